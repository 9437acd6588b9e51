// The communicators of this process, and how often each task was called on them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "edge/nccl/identity.h"
#include "edge/preload/nccl_types.h"
#include "edge/preload/user_config.h"
#include "model/task.h"

namespace autoccl::preload {

class TimedLane;  // stream_timer.h
struct Family;    // family.h

/// Calls of one communicator by task. Bounded: tasks beyond the table are counted together.
/// Thread-safe. HOT: count is a look-up and one add.
class TaskCounts {
 public:
  static constexpr size_t kTasks = 128;

  /// Whether the task's next call is to be timed, for whoever counts its calls: true at first. Null
  /// for a task beyond the table.
  std::atomic<bool>* count(const Task& task) noexcept;
  void clear() noexcept;
  [[nodiscard]] uint64_t total() const noexcept;
  /// Calls `visit(task, calls)` for each task. The last calls of running threads may be missing.
  template <class Visit>
  void forEach(Visit visit) const {
    for (const Row& row : rows_)
      if (row.calls.load(std::memory_order_acquire) > 0) visit(row.task(), row.calls.load());
  }

 private:
  struct Row {
    std::atomic<uint64_t> key{0};   // keyOf(task); 0: empty
    std::atomic<uint64_t> what{0};  // written by whoever claims the row, like bytes
    std::atomic<uint64_t> bytes{0};
    std::atomic<uint64_t> calls{0};
    std::atomic<bool> timed{true};
    void name(const Task& task) noexcept;
    [[nodiscard]] Task task() const noexcept;
  };

  std::array<Row, kTasks> rows_;
  std::atomic<uint64_t> others_{0};
};

/// One communicator. Stays in the pool when it ends, so that a call that races with an abort finds
/// memory of ours.
struct CommEntry {
  std::atomic<Comm> comm{nullptr};  // null: free, or its handle is not known yet
  nccl::KnownCommunicator known;
  TaskCounts counts;
  std::atomic<uint64_t> p2pCalls{0};
  std::atomic<uint32_t> splits{0};  // children made of it
  std::atomic<TimedLane*> lane{nullptr};
  std::atomic<bool> untimable{false};  // no lane could be had
  std::atomic<Family*> family{nullptr};
  std::atomic<bool> familyTried{false};
  std::atomic<bool> nonBlocking{false};  // its calls return before they are launched
  UserConfig config;                     // written before its first call
  bool taken = false;                    // the rest is the book's, under its lock
  size_t home = 0;
};

/// Finds a communicator's entry by its handle. find is lock-free and HOT; the others are cold and
/// hold a lock that is never held across a call of NCCL. A book that is full (kCommunicators at
/// once) gives null: such communicators are not tuned and their calls not counted.
class CommBook {
 public:
  static constexpr size_t kCommunicators = 512;

  [[nodiscard]] CommEntry* find(Comm comm) const noexcept;
  /// An entry whose handle is not known yet; null when the book is full.
  [[nodiscard]] CommEntry* take() noexcept;
  /// From now on `find(comm)` gives the entry. False, and no change, when the handle is in the
  /// book.
  bool enter(CommEntry& entry, Comm comm) noexcept;
  /// Forgets the communicator and adds its counts to the sum of ended ones.
  void leave(CommEntry& entry) noexcept;

  [[nodiscard]] uint64_t communicators() const noexcept { return made_.load(); }
  /// Collective and p2p calls of all communicators, the ended ones included.
  [[nodiscard]] uint64_t calls() const noexcept;
  [[nodiscard]] uint64_t p2pCalls() const noexcept;
  template <class Visit>
  void forEach(Visit visit) const {
    for (const CommEntry& entry : entries_)
      if (entry.comm.load() != nullptr) visit(entry);
  }

 private:
  static constexpr size_t kSlots = 2048;
  static constexpr size_t kProbes = 32;

  std::array<std::atomic<CommEntry*>, kSlots> slots_{};
  std::array<CommEntry, kCommunicators> entries_;
  std::mutex mutex_;
  size_t next_ = 0;  // where take begins to look: an entry rests as long as it can
  std::atomic<uint64_t> made_{0};
  std::atomic<uint64_t> endedCalls_{0};
  std::atomic<uint64_t> endedP2p_{0};
};

}  // namespace autoccl::preload
