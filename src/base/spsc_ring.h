// A bounded queue between one producer and one consumer thread. Full policy: DROP and count.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace autoccl {

/// Fixed ring of N (a power of two) trivially copyable values. push and pop are wait-free, allocate
/// nothing and make no system call. Producer and consumer indices stand on cache lines of their
/// own.
template <class T, size_t N>
class SpscRing {
  static_assert((N & (N - 1)) == 0 && N > 1, "N must be a power of two");
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// False when the ring is full: the value is dropped and counted.
  bool push(const T& value) noexcept {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == N) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    slots_[head & (N - 1)] = value;
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  /// False when the ring is empty; `value` is untouched then.
  bool pop(T& value) noexcept {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_.load(std::memory_order_acquire)) return false;
    value = slots_[tail & (N - 1)];
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  [[nodiscard]] uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

 private:
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) std::atomic<uint64_t> dropped_{0};
  alignas(64) std::array<T, N> slots_{};
};

}  // namespace autoccl
