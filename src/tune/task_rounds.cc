// What a task does when a round has come back. The second part of task_tuner.cc.
#include <algorithm>
#include <cmath>
#include <map>

#include "tune/task_tuner.h"

namespace autoccl {
namespace {

constexpr double kNsPerSecond = 1e9;

}  // namespace

void TaskTuner::committed(uint64_t version, uint64_t fromCall) {
  if (!round_) return;
  inService_ = status_.config;
  round_->begin(fromCall, version);
  if (round_->calls() == 0) round_.reset();
}

/// The same trials are proposed again: a search block goes back to the queue.
void TaskTuner::aborted() {
  if (!round_) return;
  if (!confirmation_ && !stepCheck_ && status_.state == TaskState::kSearching)
    queue_.insert(queue_.begin(), round_->trials().begin(), round_->trials().end());
  round_.reset();
}

std::vector<Config> TaskTuner::inFlight() const {
  std::vector<Config> untried = justProven_;
  if (!round_) return untried;
  for (const Trial& t : round_->trials())
    if (!proven_.contains(t.config) &&
        std::find(untried.begin(), untried.end(), t.config) == untried.end())
      untried.push_back(t.config);
  return untried;
}

bool TaskTuner::idle(int64_t nowNs) const {
  constexpr int64_t kIdleNs = 10'000'000'000;
  return nowNs - std::max(lastCallNs_, start_.nowNs) > kIdleNs;
}

bool TaskTuner::settled(int64_t nowNs) const {
  if (status_.state == TaskState::kConverged && !stepCheck_) return inService_ == status_.config;
  if (status_.state == TaskState::kPaused || status_.state == TaskState::kOff) return true;
  return idle(nowNs);
}

/// Losses by config over the round, against the incumbent's own calls in it where there are any.
void TaskTuner::charge(Budget& budget, const StepTable& steps) {
  std::map<Config, std::vector<double>> byConfig;
  for (const Sample& s : round_->samples())
    if (!s.failed) byConfig[s.config].push_back(s.us);
  const auto own = byConfig.find(status_.config);
  const double base =
      own != byConfig.end() && own->second.size() > 1 ? median(own->second) : median(recentUs_);
  double lost = 0;
  for (const auto& [config, us] : byConfig) {
    if (config == status_.config) continue;
    double extra = 0;
    for (const double t : us) extra += t - base;
    if (!proven_.contains(config) && base > 0) {
      firstCalls_ += static_cast<int>(us.size());
      dearestRatio_ = std::max(dearestRatio_, *std::max_element(us.begin(), us.end()) / base);
    }
    lost += std::max(0.0, extra);
  }
  if (bySteps()) lost = std::max(lost, stepExtraUs(steps));
  budget.spend(lost);
  status_.lostUs += lost;
}

void TaskTuner::record(int64_t nowNs) {
  for (size_t t = 0; t < round_->trials().size(); ++t) {
    const std::vector<double> us = round_->times(t);
    TrialRecord r;
    r.config = round_->trials()[t].config;
    r.fromCall = round_->firstCall(t);
    r.calls = round_->trials()[t].calls;
    r.samples = static_cast<int>(us.size());
    r.medianUs = median(us);
    r.phase = phase_;
    if (round_->anyFailed(t)) r.verdict = "failed";
    r.version = round_->version();
    r.second = double(nowNs - start_.nowNs) / kNsPerSecond;
    status_.history.push_back(std::move(r));
  }
  unjudged_ += round_->trials().size();
  if (status_.history.size() > options_.maxHistory)
    status_.history.erase(status_.history.begin(),
                          status_.history.end() - std::ptrdiff_t(options_.maxHistory));
}

void TaskTuner::judge(const std::function<std::string(const Config&)>& verdictOf) {
  const size_t count = std::min(unjudged_, status_.history.size());
  for (auto r = status_.history.end() - std::ptrdiff_t(count); r != status_.history.end(); ++r)
    if (r->verdict.empty() && r->config != space_.fallback) r->verdict = verdictOf(r->config);
  unjudged_ = 0;
}

void TaskTuner::finishRound(Budget& budget, const StepTable& steps, int64_t nowNs) {
  if (awaitsSteps(steps)) return;
  status_.missingSamples += round_->missing();
  charge(budget, steps);
  justProven_.clear();
  for (size_t t = 0; t < round_->trials().size(); ++t) {
    const Config& c = round_->trials()[t].config;
    if (!round_->times(t).empty() && proven_.insert(c).second) justProven_.push_back(c);
    if (!round_->times(t).empty()) continue;
    if (!faulty_.contains(c) || !allowed(c) || c == space_.fallback) continue;
    status_.failedHere.push_back(c);
    quarantine(c);
  }
  if (stepCheck_)
    finishStepCheck(steps, nowNs);
  else if (confirmation_)
    finishConfirmation(steps, nowNs);
  else if (phase_ == "drift")
    finishDrift(steps, nowNs);
  else {
    hearRound(steps);
    record(nowNs);
    if (queue_.empty()) finishSearchRound();
  }
  round_.reset();
}

/// The round's samples, behind those of the calls just before it.
void TaskTuner::hearRound(const StepTable& steps) {
  for (; !around_.empty() && around_.front().callIndex < round_->fromCall(); around_.pop_front())
    heard_.push_back(around_.front());
  const auto samples = roundSamples(steps);
  heard_.insert(heard_.end(), samples.begin(), samples.end());
}

void TaskTuner::finishSearchRound() {
  if (!policy_) return;  // a config that failed in this round has re-opened the search
  if (bySteps() && heard_.empty()) return loseSteps();
  policy_->tell(heard_);
  heard_.clear();
  judge([best = policy_->best()](const Config& c) { return c == best ? "win" : "lose"; });
  if (const auto fit = policy_->model(); fit && !bySteps()) {
    status_.modelAlphaUs = fit->parameters.startUs0;
    status_.modelBetaGBps = fit->parameters.peak0 / 1e3;
    status_.modelResidual = fit->residual;
  }
}

void TaskTuner::finishConfirmation(const StepTable& steps, int64_t nowNs) {
  const auto times = timesByTrial(steps);
  if (bySteps() && std::all_of(times.begin(), times.end(), [](auto& t) { return t.empty(); }))
    return loseSteps();
  std::vector<Config> failed;
  for (size_t t = 0; t < round_->trials().size(); ++t)
    if (round_->anyFailed(t)) failed.push_back(round_->trials()[t].config);
  confirmation_->tell(times, failed);
  record(nowNs);
  if (!confirmation_->outcome()) return;
  Confirmed found = *confirmation_->outcome();
  found.decidedBy += bySteps() ? " steps" : " calls";
  if (bySteps()) callTimesInstead(found);
  judge([&](const Config& c) { return c == found.choice ? "accepted" : "rejected"; });
  const bool tuned = found.choice != space_.fallback;
  if (!tuned && !policy_ && start_.known && status_.reopened == 0) {
    start_.known.reset();  // the profile's choice did not hold: search
    confirmation_.reset();
    status_.state = TaskState::kSearching;
    return;
  }
  confirmation_.reset();
  if (tuned && options_.objective == "step" && !bySteps() && !stepsLost_ && steps.count() > 0) {
    pendingSteps_ = found;
    stepCheck_.emplace(space_.fallback, found.choice, meanCallsPerStep(steps));
    return;
  }
  settleOn(found, steps, nowNs);
}

void TaskTuner::settleOn(const Confirmed& c, const StepTable& steps, int64_t nowNs) {
  const bool fromProfile = !policy_ && start_.known;
  status_.config = c.choice;
  status_.state = TaskState::kConverged;
  if (c.choice != space_.fallback) proven_.insert(c.choice);
  status_.defaultUs = c.defaultUs > 0 ? c.defaultUs : status_.defaultUs;
  status_.tunedUs = c.choiceUs > 0 ? c.choiceUs : status_.defaultUs;
  status_.defaultSe = c.defaultSe;
  status_.tunedSe = c.choiceSe;
  status_.confirmSamples = c.samples;
  status_.gain = std::exp(c.gain.mean);
  status_.gainLow = std::exp(c.gain.low);
  status_.gainHigh = std::exp(c.gain.high);
  status_.selfHalfWidth = std::expm1(c.selfWidth);
  status_.decidedBy = (fromProfile ? "the profile's choice, " : "") + c.decidedBy +
                      (policy_ ? " after a search (" + options_.policy + ")" : std::string());
  if (status_.convergedAtCall == 0) {
    status_.convergedAtCall = status_.calls;
    status_.convergedAtStep = steps.count();
    status_.convergedAtSecond = double(nowNs - start_.nowNs) / kNsPerSecond;
  }
  recentUs_.assign(status_.tunedUs > 0 ? 1 : 0, status_.tunedUs);
  change_.reset();
  policy_.reset();
  if (c.choice != space_.fallback) drift_.begin(status_.calls, status_.gain);
}

void TaskTuner::finishDrift(const StepTable& steps, int64_t nowNs) {
  const DriftWatch::Finding finding = drift_.tell(timesByTrial(steps), status_.calls);
  status_.detectable = drift_.detectable();
  const bool back = finding == DriftWatch::Finding::kSlower;
  record(nowNs);
  judge([back](const Config&) { return back ? "rolled back" : "kept"; });
  if (back)
    rollBack((bySteps() ? "its steps" : "it") + std::string(" had become slower than the default"));
}

}  // namespace autoccl
