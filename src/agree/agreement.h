// One communicator's agreement, as one rank holds it: the table of configs by call index, the
// counters, and the protocol that changes tables on all ranks at one call (design, section 5).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/gate.h"

namespace autoccl {

/// Changes of several tasks' tables that are committed together or not at all.
/// Entry i of a task is in force from call F + offset on, F being the agreed call of that task.
struct Proposal {
  struct Entry {
    uint64_t offset = 0;
    Config config;
  };
  struct TaskPlan {
    uint64_t taskKey = 0;
    std::vector<Entry> entries;
  };
  std::vector<TaskPlan> tasks;
  bool freeze = false;  // the last version: no further proposal will follow
};

struct Outcome {
  bool committed = false;
  uint64_t version = 0;
  std::vector<uint64_t> fromCalls;  // per task of the proposal
  std::string reason;               // of an abort
};

/// What all ranks must have in common before any call is touched.
struct MemberDigest {
  std::string version;    // ours
  std::string library;    // the engine's
  uint64_t settings = 0;  // hash of settings that matter
  uint64_t space = 0;     // hash of what the engine can do
};

/// The channel of frames between the leader and this rank (or, on the leader, all workers):
/// shared memory inside a host, TCP between hosts. Non-blocking. See link.h, shm_links.h,
/// tcp_links.h.
class LinkSet;

/// Rank 0 leads. A task with more calls in flight than its fence is ahead waits at the fence; the
/// distance adapts. Until every rank has joined no call is touched and none waits; where one has
/// not come within joinTimeoutNs, or a lost link has not come back, tuning is off and off() names
/// it. While a link is lost nothing is
/// proposed: all ranks go on under the last version. With one rank `links` may be null.
/// take/resolve are called by user or lane threads and are hot; every other call belongs to one
/// agent thread, which must call step() every few milliseconds.
class Agreement {
 public:
  struct Options {
    int rank = 0;
    int nRanks = 1;
    uint64_t session = 0;
    MemberDigest digest;
    int64_t fenceTimeoutNs = 30'000'000'000;  // AUTOCCL_FENCE_TIMEOUT
    int64_t frameDeadlineNs = 2'000'000'000;  // an unanswered PREPARE is aborted then
    int64_t joinTimeoutNs = 60'000'000'000;   // AUTOCCL_INIT_TIMEOUT
    uint64_t minHorizonCalls = 4;
    int maxTasks = 1024;
    /// Refuse a change of a task that this rank has had no call of: ranks whose tasks are not the
    /// same ones (a task says what can be run for it) never change anything.
    bool metTasksOnly = false;
    /// Refuse a change to a config that this rank cannot run, where ranks may differ in that;
    /// empty: every rank can run all. Called on the agent thread.
    std::function<bool(const Config&)> canRun;
  };
  Agreement(Options options, std::unique_ptr<LinkSet> links);
  /// A leader that ends with a version outstanding aborts it, so that nobody waits for the verdict.
  ~Agreement();

  // ---- any thread ----
  CallGate::Ticket take(const Task& task, const Config& fallback) noexcept;
  /// `config` comes in as the fallback and stays so where the table does not know the task (more
  /// than maxTasks; send/recv). False: broken, or aborted while waiting at a fence.
  bool resolve(CallGate::Ticket ticket, Config& config) noexcept;
  bool resolve(CallGate::Ticket ticket, Config& config, TaskStage& stage) noexcept;
  /// Tasks that this rank has called so far, of those that the table has room for.
  [[nodiscard]] uint32_t tasksCalled() const noexcept;
  /// Ends every wait at a fence (abort, finalize, destroy).
  void abort() noexcept;

  // ---- agent thread ----
  /// Reads and sends frames, installs fences, answers, gives verdicts. Returns the time at which it
  /// wants to be called again, at the latest.
  int64_t step(int64_t nowNs);
  /// Leader only. False while joining, while a proposal is outstanding or a link is lost, when
  /// tuning is off or frozen.
  bool propose(const Proposal& proposal, int64_t nowNs);
  /// Leader only: the outcome of the outstanding proposal, once.
  [[nodiscard]] std::optional<Outcome> outcome();
  /// Tasks whose first call happened since the last question.
  [[nodiscard]] std::vector<Task> newTasks();
  [[nodiscard]] bool joined() const;  // all members are in and their digests agree
  /// Why tuning is off on this communicator, or why it is broken (resolve then returns false).
  [[nodiscard]] std::optional<std::string> off() const;
  [[nodiscard]] bool broken() const noexcept;  // a fence timed out with the verdict unknown
  [[nodiscard]] bool frozen() const;           // the last version is committed
  [[nodiscard]] uint64_t nextIndex(uint64_t taskKey) const;  // calls taken so far on this rank
  /// Nanoseconds that calls of this rank have waited at fences.
  [[nodiscard]] int64_t fenceWaitNs() const noexcept;
  /// Rolling hash of every (task, index, config) resolved: equal on all ranks at equal calls.
  [[nodiscard]] uint64_t resolvedDigest() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace autoccl
