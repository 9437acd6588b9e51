// The life of one task: warm-up, search, confirmation, service with drift checks.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tune/budget.h"
#include "tune/change_point.h"
#include "tune/confirmation.h"
#include "tune/drift_watch.h"
#include "tune/round.h"
#include "tune/step_check.h"
#include "tune/tuner.h"

namespace autoccl {

/// State machine of one task, driven by Tuner. Asks for rounds of trials with propose(), hears
/// every call with call(). The incumbent (at first the default) serves outside rounds; it changes
/// only by a confirmation, a roll-back or a step check. With the objective `step` it compares whole
/// training steps instead of calls, where steps were found (task_steps.cc). Pure;
/// thread-compatible.
class TaskTuner {
 public:
  struct Start {
    Task task;
    uint64_t key = 0;
    std::optional<Config> known;  // of the profile
    std::vector<Config> quarantined;
    int64_t nowNs = 0;  // the communicator's first call: zero of `second`
  };
  using NeighbourSource = std::function<std::vector<Config>()>;
  TaskTuner(const TunerOptions& options, Space space, Start start);

  /// One call was measured. `steps` so far: for break-even and convergence.
  void call(const TimedCall& c, Budget& budget, const StepTable& steps);
  /// So many calls have been issued. Microseconds of those among them that nobody measured, by the
  /// median of the measured ones.
  double issued(uint64_t calls, int64_t nowNs, Budget& budget, const StepTable& steps);
  /// What trials may cost by prediction. Every task takes its share away.
  struct Allowance {
    double budgetUs = 0;                                      // the bucket's credit
    double mostUs = 0;                                        // that the bucket holds at most
    double stepUs = std::numeric_limits<double>::infinity();  // what is left of this step's
    [[nodiscard]] bool affords(double us, double inStepUs) const {
      return us <= budgetUs && inStepUs <= stepUs;
    }
    void take(double us, double inStepUs) { budgetUs -= us, stepUs -= inStepUs; }
  };
  /// The next round as a table change, if there is one that the allowance affords. `neighbours`
  /// are winners of like tasks, starting points of a search.
  [[nodiscard]] std::optional<TablePlan> propose(Allowance& left, const StepTable& steps,
                                                 const NeighbourSource& neighbours);
  void committed(uint64_t version, uint64_t fromCall);
  void aborted();
  void quarantine(const Config& c);

  [[nodiscard]] const TaskStatus& status() const { return status_; }
  [[nodiscard]] uint64_t key() const { return status_.taskKey; }
  /// In a round whose calls still come.
  [[nodiscard]] bool busy(int64_t nowNs) const { return round_ && !idle(nowNs); }
  /// Its trials are judged by whole steps: other tasks hold still meanwhile.
  [[nodiscard]] bool comparesSteps() const { return stepCheck_ || bySteps(); }
  [[nodiscard]] bool settled(int64_t nowNs) const;
  /// Untried configs of the round under way that have not yet returned a good sample.
  [[nodiscard]] std::vector<Config> inFlight() const;

 private:
  [[nodiscard]] bool allowed(const Config& c) const;
  [[nodiscard]] bool idle(int64_t nowNs) const;  // no call for long
  void served(const TimedCall& c, double us, Budget& budget);
  void hearRound(const StepTable& steps);
  void trial(const TimedCall& c, double us);
  void startSearch(const std::vector<Config>& neighbours);
  void startConfirmation(const Config& candidate);
  void finishRound(Budget& budget, const StepTable& steps, int64_t nowNs);
  void finishSearchRound();
  void finishConfirmation(const StepTable& steps, int64_t nowNs);
  void finishDrift(const StepTable& steps, int64_t nowNs);
  void settleOn(const Confirmed& c, const StepTable& steps, int64_t nowNs);
  [[nodiscard]] double savedUs(double us) const;
  void reopen(const std::string& remark);
  void rollBack(const std::string& why);
  void charge(Budget& budget, const StepTable& steps);
  /// Adds the round's blocks to the history. They have no verdict yet, unless they failed.
  void record(int64_t nowNs);
  /// The verdict on every block since the last judgement, by its config.
  void judge(const std::function<std::string(const Config&)>& verdictOf);
  [[nodiscard]] double usOf(const TimedCall& c) const;
  [[nodiscard]] double predictedExtraUs(const Config& c, double caution) const;
  /// Trials from the queue that the allowance covers by prediction, or one where none is covered.
  /// Of configs that never ran it takes at most one call more than such calls were made so far,
  /// each priced at twice the dearest of them.
  [[nodiscard]] std::vector<Trial> affordable(Allowance& left);
  [[nodiscard]] std::optional<TablePlan> publish(std::vector<Trial> trials);

  // Objective `step`, in task_steps.cc.
  [[nodiscard]] bool bySteps() const { return callsPerStep_ > 0; }
  void countCall(const TimedCall& c, const StepTable& steps);
  [[nodiscard]] bool hopesForSteps(const StepTable& steps) const;
  [[nodiscard]] double meanCallsPerStep(const StepTable& steps) const;
  void lookForSteps(const StepTable& steps);
  [[nodiscard]] bool awaitsSteps(const StepTable& steps) const;
  [[nodiscard]] std::vector<Trial> stretched(std::vector<Trial> trials) const;
  [[nodiscard]] std::vector<std::vector<double>> stepsByTrial(const StepTable& steps) const;
  [[nodiscard]] std::vector<std::vector<double>> timesByTrial(const StepTable& steps) const;
  [[nodiscard]] std::vector<Sample> roundSamples(const StepTable& steps) const;
  [[nodiscard]] double stepExtraUs(const StepTable& steps) const;
  [[nodiscard]] double leastGain() const;
  void loseSteps();
  void callTimesInstead(Confirmed& found) const;
  void finishStepCheck(const StepTable& steps, int64_t nowNs);

  TunerOptions options_;
  Space space_;
  Start start_;
  TaskStatus status_;
  std::shared_ptr<std::vector<Config>> forbidden_;  // shared with space_.valid
  std::set<Config> proven_;                         // have run well
  std::vector<Config> justProven_;  // in the last round: what they did may show late
  std::set<Config> faulty_;         // have failed, not only been refused
  Config inService_;                // what the table ends with
  std::vector<double> recentUs_;    // of the incumbent, newest last, bounded
  std::unique_ptr<Policy> policy_;
  std::deque<Trial> queue_;     // asked by the policy, not yet published
  std::vector<Sample> heard_;   // samples of the policy's present block
  std::deque<Sample> around_;   // the latest calls outside rounds, for the policy
  std::optional<Round> round_;  // published
  std::string phase_;
  size_t unjudged_ = 0;  // blocks at the end of the history
  std::optional<Confirmation> confirmation_;
  double callsPerStep_ = 0;  // of a search that compares whole steps; 0: it compares calls
  double baseStepUs_ = 0;    // median step when that search began
  uint64_t firstStep_ = 0, callsAtFirstStep_ = 0;  // steps and calls before these are not counted
  bool stepsLost_ = false;                         // a search by steps had seen none
  StepCalls stepCalls_;                            // since the round was published
  std::optional<StepCheck> stepCheck_;
  std::optional<Confirmed> pendingSteps_;  // accepted by time, waiting for the steps' word
  DriftWatch drift_;
  ChangePoint change_;
  uint64_t heardCalls_ = 0, unheardCalls_ = 0;  // told, and accounted for without
  uint64_t toldOfRound_ = 0;                    // when last looked at by issued
  int64_t quietSinceNs_ = 0;  // no sample of the round since; 0: its calls are not over
  int64_t lastCallNs_ = 0;
  double dearestRatio_ = 1.5;    // of a config's first call to the incumbent
  int firstCalls_ = 0;           // of configs that had never run
  uint64_t quietUntilCall_ = 0;  // no change point before this call
};

}  // namespace autoccl
