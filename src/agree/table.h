// The table of configs by call index that one rank holds, and the counter that says which call is
// next.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agree/local_calls.h"
#include "model/gate.h"

namespace autoccl {

/// Why waits at fences have ended for good.
enum class Ended : uint32_t { kNo, kAborted, kBroken };

/// Slots by task key (open addressing, never removed, at most maxTasks in use). A slot holds the
/// counter of calls, the fence (the first call that must wait for a verdict, or kNoFence) and a
/// pointer to an immutable schedule: entries (from call, config), ascending.
///
/// Race that must not be: a call that misses the fence while the agent misses the call. A call
/// first takes its index (fetch_add, seq_cst), then loads the fence (seq_cst); the agent first
/// stores the fence (seq_cst), then loads the counter (seq_cst). In the one order of all four, a
/// call whose index is at or above the fence was taken after the agent looked, hence sees the
/// fence, or is counted by the agent, who then refuses. race_test.cc explores it on x86-TSO with
/// both mutants.
///
/// Schedules are replaced, never changed. An old one is freed, and its entries below are forgotten,
/// only after the slot was seen at rest (every call taken has been resolved). A slot that is never
/// at rest keeps them up to kMaxRetired and kMaxEntries, then install() refuses: memory stays
/// bounded.
///
/// Threads: take and resolve from any; calls of one communicator are issued one after the other (as
/// its users must do anyway), else the sequence hash is wrong and tuning turns itself off. All else
/// belongs to the agent thread.
class TaskTable final : public LocalCalls {
 public:
  static constexpr uint32_t kNoSlot = UINT32_MAX;  // the table was full: the default serves
  static constexpr uint64_t kNoFence = UINT64_MAX;
  static constexpr size_t kMaxEntries = 4096;  // of one task's schedule
  static constexpr size_t kMaxRetired = 64;

  /// fenceTimeoutNs: the longest wait at a fence, should the agent thread be gone. metTasksOnly:
  /// and canRun: see Agreement::Options.
  TaskTable(int maxTasks, int64_t fenceTimeoutNs, bool metTasksOnly = false,
            std::function<bool(const Config&)> canRun = {});
  ~TaskTable() override;

  // ---- any thread; HOT: no allocation, lock, log or system call (a wait at a fence naps) ----
  CallGate::Ticket take(const Task& task, const Config& fallback) noexcept;
  /// The config of the ticket's call; `config` stays as it was where the table knows nothing of the
  /// task. False: the wait at a fence ended without a verdict, see ended().
  bool resolve(CallGate::Ticket ticket, Config& config) noexcept {
    TaskStage stage{};
    return resolve(ticket, config, stage);
  }
  bool resolve(CallGate::Ticket ticket, Config& config, TaskStage& stage) noexcept;
  /// Tasks that this rank has called so far, of those that have a slot.
  [[nodiscard]] uint32_t tasksCalled() const noexcept {
    return firstCalls_.load(std::memory_order_acquire);
  }
  /// Ends waits, once: the first reason stays.
  void end(Ended why) noexcept;
  [[nodiscard]] Ended ended() const noexcept;

  // ---- agent thread ----
  std::optional<std::string> install(const Prepare& prepare) override;
  [[nodiscard]] uint64_t nextIndex(uint64_t taskKey) const override;
  [[nodiscard]] std::vector<SequenceHash> hashes(size_t most) const override;
  void settle(const Prepare& prepare, bool commit) override;
  [[nodiscard]] bool waitedSinceInstall() const override;

  [[nodiscard]] std::vector<Task> newTasks();
  /// Frees what calls at rest have left behind; call it now and then.
  void tidy();
  /// True while a call waits at a fence.
  [[nodiscard]] bool waiting() const noexcept;
  [[nodiscard]] int64_t fenceWaitNs() const noexcept;
  [[nodiscard]] uint64_t resolvedDigest() const noexcept;

 private:
  struct Schedule;
  struct Slot;
  struct Cold;
  uint32_t findSlot(uint64_t key, bool insert) noexcept;
  [[nodiscard]] uint32_t lookUp(uint64_t key) const noexcept;
  void firstCall(uint32_t slot, const Task& task, const Config& fallback) noexcept;
  void noteSequence(uint64_t key, uint64_t index) noexcept;
  bool waitAtFence(Slot& slot, uint64_t index) noexcept;
  void rest(uint32_t slot);
  [[nodiscard]] bool met(uint64_t key) const noexcept;
  [[nodiscard]] std::optional<std::string> refusal(uint32_t slot, size_t nEntries);
  [[nodiscard]] std::optional<std::string> refusal(const Prepare::TaskChange& change) const;
  void publish(uint32_t slot, const std::vector<TableEntry>& entries);

  static constexpr size_t kHashRing = 64;
  struct HashCell {
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> hash{0};
  };

  const uint32_t mask_;
  const uint32_t maxTasks_;
  const int64_t fenceTimeoutNs_;
  const bool metTasksOnly_;
  const std::function<bool(const Config&)> canRun_;
  std::unique_ptr<Slot[]> slots_;
  std::vector<uint32_t> untidy_;  // slots with retired schedules
  std::vector<Cold> cold_;        // beside slots_, agent thread only, but for the task's words
  std::atomic<uint32_t> used_{0};
  std::atomic<uint32_t> firstCalls_{0};
  uint32_t reported_ = 0;

  alignas(64) std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> sequenceHash_{0};
  std::array<HashCell, kHashRing> hashRing_;

  alignas(64) std::atomic<Ended> ended_{Ended::kNo};
  std::atomic<uint32_t> waiters_{0};
  std::atomic<int64_t> fenceWaitNs_{0};
  std::atomic<bool> waited_{false};
};

}  // namespace autoccl
