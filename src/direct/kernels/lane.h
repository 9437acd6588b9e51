// One thread of a kernel: its place in the grid, its waits, the flags and lines it shares with
// peers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "direct/kernels/both_sides.h"

#if !defined(__CUDA_ARCH__)
#include <sched.h>

#include <atomic>
#endif

namespace autoccl::direct {

/// In the double of the driver a block is one thread on a stream's host thread, and a grid's blocks
/// run one after another; block b of a rank waits for block b of its peers alone, so this ends, and
/// so does a grid on a GPU that has room for one block only.
struct Lane {
  uint32_t thread = 0, threads = 1, block = 0, blocks = 1;

  /// A barrier of the block's threads; true if `any` of them says so.
  [[nodiscard]] ACCL_BOTH bool syncAny(bool any) const {
#if defined(__CUDA_ARCH__)
    return __syncthreads_or(any) != 0;
#else
    return any;
#endif
  }
  ACCL_BOTH void sync() const {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
  }
};

/// Makes this thread's earlier writes, and those it came to see by a barrier of its block, visible
/// to whoever reads the flag with acquire.
ACCL_BOTH void raiseFlag(uint64_t* flag, uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
#else
  std::atomic_ref(*flag).store(value, std::memory_order_release);
#endif
}

ACCL_BOTH uint64_t readFlag(const uint64_t* flag) {
#if defined(__CUDA_ARCH__)
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
#else
  return std::atomic_ref(*const_cast<uint64_t*>(flag)).load(std::memory_order_acquire);
#endif
}

/// The word in host memory that ends all waits of a group (DirectGroup's watchdog sets it).
ACCL_BOTH bool readStop(const uint32_t* stop) {
#if defined(__CUDA_ARCH__)
  uint32_t value;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(stop) : "memory");
  return value != 0;
#else
  return std::atomic_ref(*const_cast<uint32_t*>(stop)).load(std::memory_order_relaxed) != 0;
#endif
}

/// Until ready() or stop; false when stopped. The stop word lies across PCIe: it is read seldom.
template <class Ready>
ACCL_BOTH bool waitUntil(const uint32_t* stop, Ready ready) {
#if defined(__CUDA_ARCH__)
  constexpr uint32_t kEvery = 1u << 12;
#else
  constexpr uint32_t kEvery = 16;
#endif
  for (uint32_t spins = 1;; ++spins) {
    if (ready()) return true;
    if (spins % kEvery == 0 && readStop(stop)) return false;
#if !defined(__CUDA_ARCH__)
    sched_yield();
#endif
  }
}

/// A line of protocol LL: 8 bytes of data, each half beside its flag. Needs stores of 8 bytes that
/// do not tear, which every GPU gives.
struct LineLL {
  static constexpr int kWords = 2;   // of data, 4 bytes each
  static constexpr int kBytes = 16;  // in memory

  static ACCL_BOTH void write(char* line, const uint32_t (&data)[kWords], uint32_t flag) {
#if defined(__CUDA_ARCH__)
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %3, %2, %3};" ::"l"(line), "r"(data[0]),
                 "r"(data[1]), "r"(flag)
                 : "memory");
#else
    auto* halves = reinterpret_cast<uint64_t*>(line);
    for (int i = 0; i < 2; ++i)
      std::atomic_ref(halves[i]).store(uint64_t{flag} << 32 | data[i], std::memory_order_release);
#endif
  }
  /// False, and `data` is of no use, while the line does not carry the flag.
  static ACCL_BOTH bool read(const char* line, uint32_t (&data)[kWords], uint32_t flag) {
#if defined(__CUDA_ARCH__)
    uint32_t first, second;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(data[0]), "=r"(first), "=r"(data[1]), "=r"(second)
                 : "l"(line)
                 : "memory");
    return first == flag && second == flag;
#else
    auto* halves = reinterpret_cast<uint64_t*>(const_cast<char*>(line));
    bool whole = true;
    for (int i = 0; i < 2; ++i) {
      const uint64_t half = std::atomic_ref(halves[i]).load(std::memory_order_acquire);
      data[i] = static_cast<uint32_t>(half);
      whole = whole && half >> 32 == flag;
    }
    return whole;
#endif
  }
};

/// Two lines of protocol LL128: 24 bytes of data in two 16-byte halves, each ending in a flag.
/// Needs stores of 16 bytes that do not tear: st.b128, from sm_70 on.
struct LineLL128 {
  static constexpr int kWords = 6;
  static constexpr int kBytes = 32;

  static ACCL_BOTH void write(char* line, const uint32_t (&data)[kWords], uint32_t flag) {
    writeHalf(line, data, flag);
    writeHalf(line + 16, data + 3, flag);
  }
  static ACCL_BOTH bool read(const char* line, uint32_t (&data)[kWords], uint32_t flag) {
    const bool first = readHalf(line, data, flag);
    const bool second = readHalf(line + 16, data + 3, flag);
    return first && second;
  }

 private:
  static ACCL_BOTH void writeHalf(char* at, const uint32_t* data, uint32_t flag) {
#if defined(__CUDA_ARCH__)
    asm volatile(
        "{ .reg .b64 lo, hi; .reg .b128 all; mov.b64 lo, {%1, %2}; mov.b64 hi, {%3, %4};"
        "  mov.b128 all, {lo, hi}; st.relaxed.sys.global.b128 [%0], all; }" ::"l"(at),
        "r"(data[0]), "r"(data[1]), "r"(data[2]), "r"(flag)
        : "memory");
#else
    auto* words = reinterpret_cast<uint32_t*>(at);
    for (int i = 0; i < 3; ++i) std::atomic_ref(words[i]).store(data[i], std::memory_order_relaxed);
    std::atomic_ref(words[3]).store(flag, std::memory_order_release);
#endif
  }
  static ACCL_BOTH bool readHalf(const char* at, uint32_t* data, uint32_t flag) {
#if defined(__CUDA_ARCH__)
    uint32_t seen;
    asm volatile(
        "{ .reg .b64 lo, hi; .reg .b128 all; ld.relaxed.sys.global.b128 all, [%4];"
        "  mov.b128 {lo, hi}, all; mov.b64 {%0, %1}, lo; mov.b64 {%2, %3}, hi; }"
        : "=r"(data[0]), "=r"(data[1]), "=r"(data[2]), "=r"(seen)
        : "l"(at)
        : "memory");
    return seen == flag;
#else
    auto* words = reinterpret_cast<uint32_t*>(const_cast<char*>(at));
    const bool whole = std::atomic_ref(words[3]).load(std::memory_order_acquire) == flag;
    for (int i = 0; i < 3; ++i) data[i] = std::atomic_ref(words[i]).load(std::memory_order_relaxed);
    return whole;
#endif
  }
};

}  // namespace autoccl::direct
