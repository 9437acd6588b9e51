// A stream: an ordered queue of work with a thread of its own, and events on it.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace autoccl {

/// Work runs in the order it was enqueued, one piece at a time. The queue is bounded: a producer
/// waits while it is full. Thread-safe; enqueue takes a mutex and allocates nothing. The destructor
/// finishes all work first.
class Stream {
 public:
  explicit Stream(const std::string& name);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// `work` is called once, on the stream's thread: a trivially copyable callable of at most
  /// kWorkBytes that does not throw.
  template <class Work>
  void enqueue(const Work& work) {
    static_assert(std::is_trivially_copyable_v<Work> && sizeof(Work) <= kWorkBytes);
    Item item;
    item.run = [](void* storage) noexcept { (*static_cast<Work*>(storage))(); };
    new (item.storage.data()) Work(work);
    push(item);
  }
  /// Waits until everything enqueued so far has run.
  void synchronize();
  [[nodiscard]] bool idle() const;

 private:
  static constexpr size_t kWorkBytes = 320;
  static constexpr size_t kDepth = 256;
  struct Item {
    void (*run)(void* storage) noexcept = nullptr;
    alignas(16) std::array<std::byte, kWorkBytes> storage;
  };
  void push(const Item& item);
  void serve();

  mutable std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::vector<Item> ring_;
  uint64_t pushed_ = 0, taken_ = 0, finished_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

/// A mark in a stream. Recorded again, it stands for the last mark. Shared by its user and by the
/// work that refers to it, so it may be dropped while that is under way. Thread-safe.
class Event {
 public:
  static Event* make() { return new Event(); }
  Event* retain() noexcept {
    users_.fetch_add(1, std::memory_order_relaxed);
    return this;
  }
  void drop() noexcept {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// Puts the mark behind the stream's work; null: the mark is set now.
  void record(Stream* stream);
  /// The last mark set so far: what a stream that waits now has to wait for.
  [[nodiscard]] uint64_t lastMark() const;
  void wait(uint64_t mark);
  [[nodiscard]] bool done(uint64_t mark) const;
  /// When the last mark was passed; 0: never.
  [[nodiscard]] int64_t timeNs() const;

 private:
  Event() = default;
  ~Event() = default;
  void pass(uint64_t mark) noexcept;

  std::atomic<int> users_{1};
  mutable std::mutex mutex_;
  std::condition_variable passed_;
  uint64_t recorded_ = 0, done_ = 0;
  int64_t timeNs_ = 0;
};

}  // namespace autoccl
