// Objective `step`: a task's trials judged by whole training steps. The third part of
// task_tuner.cc.
//
// Where steps were found, every trial is stretched until it holds whole steps, and a sample is the
// length of a step in which all of the task's calls ran with one config. Search, confirmation and
// drift checks then are what they are for calls, so that a config wins which leaves the cores to
// the computation, although its own collective gains nothing. One task at a time has a round. Where
// no steps were found, calls are compared, and a winner must not lengthen the steps, if some turn
// up.
#include <algorithm>
#include <cmath>
#include <map>

#include "tune/task_tuner.h"

namespace autoccl {
namespace {

constexpr uint64_t kLeastSteps = 8;       // before a search may compare steps
constexpr uint64_t kCallsForSteps = 512;  // that may pass until steps are found
constexpr double kStepsOfPatience = 8;    // after a round, until its last step has been seen
constexpr uint64_t kCallsOfPatience = 64;

}  // namespace

void TaskTuner::countCall(const TimedCall& c, const StepTable& steps) {
  if (firstStep_ == 0 && steps.count() > 0) {
    firstStep_ = steps.count();
    callsAtFirstStep_ = status_.calls - 1;
  }
  if (round_ && comparesSteps()) stepCalls_.call({c.callIndex, c.atNs, c.inEffect});
}

/// The program is young: its steps may still be found.
bool TaskTuner::hopesForSteps(const StepTable& steps) const {
  const bool enough = firstStep_ > 0 && steps.count() >= firstStep_ + kLeastSteps;
  return options_.objective == "step" && !enough && status_.calls < kCallsForSteps;
}

double TaskTuner::meanCallsPerStep(const StepTable& steps) const {
  return double(status_.calls - callsAtFirstStep_) /
         double(std::max<uint64_t>(1, steps.count() - firstStep_));
}

/// A search or a confirmation begins: will it compare steps?
void TaskTuner::lookForSteps(const StepTable& steps) {
  callsPerStep_ = 0;
  if (options_.objective != "step" || stepsLost_ || firstStep_ == 0) return;
  if (steps.count() < firstStep_ + kLeastSteps) return;
  const double mean = meanCallsPerStep(steps);
  callsPerStep_ = mean < 1 ? mean : std::round(mean);
  baseStepUs_ = steps.medianMs() * 1e3;
}

/// The step of the round's last call has not ended; given up when it does not come.
bool TaskTuner::awaitsSteps(const StepTable& steps) const {
  if (!comparesSteps()) return false;
  const double perStep = bySteps() ? callsPerStep_ : meanCallsPerStep(steps);
  const auto most = kCallsOfPatience + static_cast<uint64_t>(kStepsOfPatience * perStep);
  return !stepCalls_.ready(steps) && round_->beyond() < most;
}

/// A block of n calls becomes one that holds n whole steps wherever in a step it begins.
std::vector<Trial> TaskTuner::stretched(std::vector<Trial> trials) const {
  if (bySteps())
    for (Trial& t : trials) t.calls = static_cast<int>(std::ceil(callsPerStep_ * (t.calls + 1)));
  return trials;
}

/// Microseconds of the steps that ran with a trial's config only, by trial.
std::vector<std::vector<double>> TaskTuner::stepsByTrial(const StepTable& steps) const {
  std::vector<std::vector<double>> found(round_->trials().size());
  for (const auto& [firstCall, config, ms] : stepCalls_.pure(steps))
    if (round_->holds(firstCall) && round_->asked(firstCall) == config)
      found[round_->trialOf(firstCall)].push_back(ms * 1e3);
  return found;
}

std::vector<std::vector<double>> TaskTuner::timesByTrial(const StepTable& steps) const {
  if (bySteps()) return stepsByTrial(steps);
  std::vector<std::vector<double>> times;
  for (size_t t = 0; t < round_->trials().size(); ++t) times.push_back(round_->times(t));
  return times;
}

/// The round's samples for the policy, numbered by step where steps are compared.
std::vector<Sample> TaskTuner::roundSamples(const StepTable& steps) const {
  if (!bySteps()) return round_->samples();
  const auto times = stepsByTrial(steps);
  std::vector<Sample> samples;
  for (size_t t = 0; t < times.size(); ++t) {
    const Config& c = round_->trials()[t].config;
    const auto now = static_cast<uint64_t>(double(round_->firstCall(t)) / callsPerStep_);
    if (round_->anyFailed(t)) samples.push_back({c, 0, now, true});
    for (const double us : times[t]) samples.push_back({c, us, now, false});
  }
  return samples;
}

/// The program has no steps any more: the search begins anew, by calls.
void TaskTuner::loseSteps() {
  stepsLost_ = true;
  status_.state = TaskState::kSearching;
  policy_.reset();
  confirmation_.reset();
}

/// By how much the steps of the round's trials were longer than before the search, in sum.
double TaskTuner::stepExtraUs(const StepTable& steps) const {
  double sum = 0;
  for (const auto& [firstCall, config, ms] : stepCalls_.pure(steps))
    if (config != status_.config) sum += ms * 1e3 - baseStepUs_;
  return std::max(0.0, sum);
}

/// The smallest gain worth a change is a share of the time that the task takes: of a step, as much
/// less as the task is of the step.
double TaskTuner::leastGain() const {
  const double least = options_.search.minGain;
  return bySteps() && baseStepUs_ > 0
             ? least * std::min(1.0, median(recentUs_) * callsPerStep_ / baseStepUs_)
             : least;
}

/// A confirmation by steps has step times; the task's figures are its calls'.
void TaskTuner::callTimesInstead(Confirmed& found) const {
  std::map<Config, std::vector<double>> us;
  const auto blocks = std::ssize(status_.history) - std::ptrdiff_t(unjudged_);
  for (auto r = status_.history.begin() + std::max<std::ptrdiff_t>(0, blocks);
       r != status_.history.end(); ++r)
    if (r->medianUs > 0) us[r->config].push_back(r->medianUs);
  found.defaultUs = median(us[space_.fallback]);
  found.defaultSe = medianSe(us[space_.fallback]);
  found.choiceUs = median(us[found.choice]);
  found.choiceSe = medianSe(us[found.choice]);
}

void TaskTuner::finishStepCheck(const StepTable& steps, int64_t nowNs) {
  const StepCheck::Finding finding = StepCheck::judge(stepsByTrial(steps));
  Confirmed found = *pendingSteps_;
  const bool passed = finding.passed && allowed(found.choice);
  stepCheck_.reset();
  pendingSteps_.reset();
  record(nowNs);
  judge([&](const Config&) { return passed ? "accepted" : "rejected"; });
  if (!passed) {
    const std::string winner = toText(found.choice);
    found.choice = space_.fallback;
    found.gain = {};
    found.choiceUs = found.defaultUs;
    found.choiceSe = found.defaultSe;
    found.decidedBy = "the default stays: " + winner +
                      " wins its own collective but not the step, " + finding.text;
  } else {
    found.decidedBy += "; " + finding.text;
  }
  settleOn(found, steps, nowNs);
}

}  // namespace autoccl
