// The leader's half of a session: samples in, agreed tables out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agree/agreement.h"
#include "edge/session/measuring.h"
#include "edge/session/sample_board.h"
#include "edge/session/step_clock.h"
#include "edge/session/task_clocks.h"
#include "edge/session/trial_turn.h"
#include "store/run_record.h"
#include "tune/tuner.h"

namespace autoccl {

/// Moves what the ranks measured into the Tuner and what the Tuner wants into the Agreement, one
/// proposal at a time. Lives on rank 0's agent thread; thread-compatible but for stepMark.
/// Cost: O(samples since the last step); allocates, so never on a thread that runs calls.
class Leader {
 public:
  struct Options {
    TunerOptions tuner;
    std::string communicatorName;
    int nRanks = 1;
    JoinRule joinRule = JoinRule::kSharedClock;
    Measuring measuring = Measuring::kEveryCall;
    std::string engine = "cpu";
    std::function<std::string(const Task&)> describeDefault;  // may be empty; for the record
    /// The profile's choice for a task, if it has one.
    std::function<std::optional<Config>(const Task&)> known;
    /// What crashed runs left in flight: never tried again.
    std::vector<std::pair<uint64_t, Config>> quarantined;
  };
  Leader(Options options, Agreement& agreement, SampleBoard& board, Tuner::SpaceSource spaceFor);

  void step(int64_t nowNs);
  /// The program says: a training step begins. Any one thread.
  void stepMark(int64_t nowNs) noexcept { clock_.mark(nowNs); }
  /// Tasks met so far if none of them is still being searched, else 0.
  [[nodiscard]] uint64_t settledTasks() const { return tuner_.settled() ? tasksMet_.size() : 0; }
  /// What is known so far of this communicator: tasks, steps, ranks, costs.
  [[nodiscard]] RunRecord record() const;

 private:
  struct Watch {  // a committed plan whose calls are wanted in full
    uint64_t taskKey = 0;
    uint64_t untilCall = 0;
  };

  void meetNewTasks(int64_t nowNs);
  void countCalls(int64_t nowNs);
  void collectSamples();
  void takeSteps();
  void settleProposal(int64_t nowNs);
  void proposeNext(int64_t nowNs);
  void chooseSampling(int64_t nowNs);
  [[nodiscard]] uint64_t leadIn(const TablePlan& plan) const;
  [[nodiscard]] Proposal toProposal(const std::vector<TablePlan>& plans) const;
  void addClock(TaskRecord& record, const TaskStatus& status) const;
  [[nodiscard]] std::vector<RankRecord> rankRecords() const;
  void addSums(RunRecord& record) const;

  Options options_;
  Agreement& agreement_;
  SampleBoard& board_;
  Tuner tuner_;
  TaskClocks taskClocks_;
  StepClock clock_;
  std::vector<StepRecord> steps_;
  std::vector<StepRecord> untouchedSteps_;  // before the first change of a table
  std::vector<StepRecord> settledSteps_;    // with every task settled
  TrialTurn turn_;
  std::vector<TablePlan> held_;      // to be proposed when it is our turn
  std::vector<TablePlan> proposed_;  // the outstanding proposal
  std::vector<Watch> watches_;
  int64_t fenceSeenNs_ = 0;
  int64_t exposedSeenNs_ = 0;
  int64_t rateSinceNs_ = 0;
  int64_t rateCalls_ = 0;
  uint64_t versions_ = 0;
  std::vector<uint64_t> tasksMet_;  // their keys
};

}  // namespace autoccl
