// The tuner of one communicator: all its tasks, one budget. Pure: time and samples are arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/space.h"
#include "tune/policy.h"
#include "tune/task_status.h"

namespace autoccl {

struct TunerOptions {
  std::string policy = "subspacerace";
  std::string objective = "time";  // "time", "step" or "sm"
  PolicyOptions search;
  int warmupCalls = 5;        // dropped at the start of a task
  double budgetShare = 0.02;  // of communication time, over budgetHorizonS
  double budgetHorizonS = 600;
  double openingCreditCalls = 60;  // call-times a task may lose before the bucket has filled
  int confirmPairs = 12;           // interleaved rounds default|candidate of the last test
  int driftBurst = 16;             // calls of a paired check after convergence
  double smPriceUs = 0;            // objective "sm": microseconds per channel x thread
  size_t maxTasks = 1024;          // later ones run the default
  size_t maxHistory = 2000;        // trial records kept per task, the oldest go first
  /// Called with the journal's whole text (tune/journal.h) before a plan with an untried config is
  /// returned, and again when its trials have run. Writing the file is the caller's.
  std::function<void(const std::string&)> journal;
};

/// One measured call, by the leader's reckoning over all ranks.
struct TimedCall {
  uint64_t taskKey = 0;
  uint64_t callIndex = 0;
  Config inEffect;
  double us = 0;
  bool failed = false;
  int64_t atNs = 0;
};

/// A change of one task's table: from the agreed call F on, entry i is in force for the calls
/// [F + entries[i].offset, F + entries[i+1].offset), the last one until the next change.
struct TablePlan {
  struct Entry {
    uint64_t offset = 0;
    Config config;
  };
  uint64_t taskKey = 0;
  std::vector<Entry> entries;  // ascending, first offset 0, never empty
  uint64_t calls = 0;          // of trials, from offset 0 on; 0: a change without trials
};

/// Life of a task: warm-up, searching, confirming, converged (served; drift checked in paired
/// bursts), or paused when the budget is spent, or off. The default is in force until a candidate
/// has won a confirmation on fresh interleaved samples. Protocol: seen() and tell() at any time;
/// nextPlans() returns changes to publish, all to be agreed together; it returns nothing more until
/// committed() or aborted() has answered. Thread-compatible. Times in ns of any monotonic clock.
class Tuner {
 public:
  using SpaceSource = std::function<Space(const Task&)>;
  Tuner(TunerOptions options, SpaceSource spaceFor);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// A task's first call. `known` is the profile's choice, if it has one: tried first, never
  /// trusted.
  void seen(const Task& task, const Config* known, int64_t nowNs);
  void tell(const std::vector<TimedCall>& calls);
  /// So many calls of the task have been issued, measured or not: an engine need measure none but
  /// those of trials and of a task's first calls. Samples of a round that are missing long after
  /// its last call was issued are taken for lost.
  void issued(uint64_t taskKey, uint64_t calls, int64_t nowNs);
  /// Objective `step`: a training step ended.
  void stepEnded(double ms, int64_t nowNs);
  [[nodiscard]] std::vector<TablePlan> nextPlans(int64_t nowNs);
  void committed(uint64_t version,
                 const std::vector<uint64_t>& fromCalls);  // in the order of nextPlans
  void aborted();
  /// Time that calls spent waiting at fences counts against the budget.
  void fenceWaited(double us);
  /// Configs that must never be tried again (journal of a crashed run), with their larger
  /// neighbours.
  void quarantine(uint64_t taskKey, const Config& config);
  [[nodiscard]] bool settled() const;  // every task is converged, paused or off
  /// Every task seen, in the order seen.
  [[nodiscard]] std::vector<TaskStatus> status() const;
  [[nodiscard]] TunerTotals totals() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace autoccl
