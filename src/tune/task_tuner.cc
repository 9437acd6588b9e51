#include "tune/task_tuner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tune/journal.h"

namespace autoccl {
namespace {

constexpr size_t kDefaultSamples = 12;  // of the default, before a search begins
constexpr size_t kRecent = 33;
constexpr size_t kMostAround = 10;        // calls before a round that the policy hears of
constexpr uint64_t kCallsUnderWay = 512;  // issued, and not measured yet
constexpr int64_t kRoundPatienceNs = 2'000'000'000;
constexpr size_t kMostTrialsPerPlan = 64;
constexpr uint64_t kQuietCalls = 2000;  // after a change point; doubled each time
constexpr int kMostReopened = 10;       // doublings
constexpr double kCaution = 2;          // times the dearest first call so far, with many of them
constexpr double kFewCalls = 10;        // added to it over their number
constexpr double kLeastPlanCalls = 4;   // a plan is worth a round trip from this predicted extra on

void keepLast(std::vector<double>& values, double value) {
  values.push_back(value);
  if (values.size() > 2 * kRecent) values.erase(values.begin(), values.end() - kRecent);
}

}  // namespace

std::string_view toText(TaskState state) noexcept {
  constexpr std::string_view kWords[] = {"warm-up",   "searching", "confirming",
                                         "converged", "paused",    "off"};
  return kWords[static_cast<size_t>(state)];
}

TaskTuner::TaskTuner(const TunerOptions& options, Space space, Start start)
    : options_(options),
      space_(std::move(space)),
      start_(std::move(start)),
      forbidden_(std::make_shared<std::vector<Config>>()),
      inService_(space_.fallback),
      drift_(options.driftBurst, options.budgetShare) {
  status_.task = start_.task;
  status_.taskKey = start_.key;
  status_.defaultConfig = status_.config = space_.fallback;
  status_.decidedBy = "the default, until another config has won on fresh calls";
  status_.warmupCalls = static_cast<uint64_t>(options_.warmupCalls) + kDefaultSamples;
  proven_.insert(space_.fallback);
  space_.valid = [inner = space_.valid, bad = forbidden_](const Config& c) {
    return inner(c) &&
           std::none_of(bad->begin(), bad->end(), [&](const Config& q) { return atLeast(c, q); });
  };
  for (const Config& q : start_.quarantined) quarantine(q);
  if (space_.subspaces.empty()) {
    status_.state = TaskState::kOff;
    status_.decidedBy = "the engine offers no choice for this task";
  }
}

void TaskTuner::quarantine(const Config& c) {
  if (c == space_.fallback) return;
  forbidden_->push_back(c);
  status_.quarantined.push_back(c);
  if (!allowed(status_.config)) rollBack("its config or a smaller one is quarantined");
}

void TaskTuner::rollBack(const std::string& why) {
  status_.config = space_.fallback;
  status_.gain = status_.gainLow = status_.gainHigh = 1;
  status_.tunedUs = status_.defaultUs;
  status_.decidedBy = "rolled back to the default: " + why;
  recentUs_.assign(status_.defaultUs > 0 ? 1 : 0, status_.defaultUs);
  reopen("; search re-opened");
}

bool TaskTuner::allowed(const Config& c) const {
  return c == space_.fallback || space_.valid(c);
}

double TaskTuner::usOf(const TimedCall& c) const {
  const double price = options_.objective == "sm" ? options_.smPriceUs : 0;
  return c.us + price * double(c.inEffect.channels) * double(c.inEffect.threads);
}

void TaskTuner::call(const TimedCall& c, Budget& budget, const StepTable& steps) {
  ++heardCalls_;
  status_.calls = std::max(status_.calls, c.callIndex + 1);
  lastCallNs_ = std::max(lastCallNs_, c.atNs);
  const bool usable = !c.failed && c.us > 0;
  if (usable) budget.communicated(c.us);
  const double us = usable ? usOf(c) : 0;
  countCall(c, steps);
  if (round_ && round_->holds(c.callIndex)) {
    trial(c, us);
  } else {
    if (round_) round_->passed(c.callIndex);
    if (usable)
      served(c, us, budget);
    else
      ++status_.discardedSamples;
  }
  if (round_ && round_->over()) finishRound(budget, steps, c.atNs);
  const bool gaining = status_.config != space_.fallback && status_.savedUs >= status_.lostUs;
  if (gaining && status_.breakEvenCall == 0) {
    status_.breakEvenCall = c.callIndex;
    status_.breakEvenStep = steps.count();
  }
}

double TaskTuner::issued(uint64_t calls, int64_t nowNs, Budget& budget, const StepTable& steps) {
  if (calls > status_.calls) lastCallNs_ = std::max(lastCallNs_, nowNs);
  status_.calls = std::max(status_.calls, calls);
  if (round_ && round_->begun() && calls > round_->fromCall() + round_->calls()) {
    if (quietSinceNs_ == 0 || round_->told() != toldOfRound_) quietSinceNs_ = nowNs;
    toldOfRound_ = round_->told();
    if (nowNs - quietSinceNs_ > kRoundPatienceNs) round_->giveUp();
    if (round_->over()) finishRound(budget, steps, nowNs);
  }
  const uint64_t accounted = heardCalls_ + unheardCalls_ + kCallsUnderWay;
  if (calls <= accounted) return 0;
  const uint64_t unheard = calls - accounted;
  unheardCalls_ += unheard;
  const double us = double(unheard) * median(recentUs_);
  budget.communicated(us);
  status_.savedUs += double(unheard) * savedUs(median(recentUs_));
  return us;
}

void TaskTuner::trial(const TimedCall& c, double us) {
  const Config& asked = round_->asked(c.callIndex);
  const bool good = us > 0 && c.inEffect == asked;
  ++status_.measuredCalls;
  if (c.failed) faulty_.insert(asked);
  if (!good) ++status_.discardedSamples;
  round_->put({asked, good ? us : 0, c.callIndex, !good});
}

void TaskTuner::served(const TimedCall& c, double us, Budget& budget) {
  if (c.inEffect != status_.config) return;  // an older table's last calls
  if (status_.state == TaskState::kWarmUp) {
    if (c.callIndex < static_cast<uint64_t>(options_.warmupCalls)) return;
    keepLast(recentUs_, us);
    if (recentUs_.size() < kDefaultSamples) return;
    status_.defaultUs = status_.tunedUs = median(recentUs_);
    status_.defaultSe = status_.tunedSe = medianSe(recentUs_);
    budget.grant(options_.openingCreditCalls * status_.defaultUs);
    status_.state = TaskState::kSearching;
    return;
  }
  keepLast(recentUs_, us);
  if (policy_ && policy_->wantsServed() && !bySteps()) {
    around_.push_back({status_.config, us, c.callIndex, false, false});
    if (around_.size() > kMostAround) around_.pop_front();
  }
  status_.savedUs += savedUs(us);
  if (status_.state == TaskState::kConverged && change_.put(us) && c.callIndex >= quietUntilCall_)
    reopen("; search re-opened: the time of the choice changed");
}

/// By a call of the choice that took so long.
double TaskTuner::savedUs(double us) const {
  if (status_.config == space_.fallback) return 0;
  return bySteps() ? baseStepUs_ / callsPerStep_ * (1 - 1 / status_.gain) : us * (status_.gain - 1);
}

void TaskTuner::reopen(const std::string& remark) {
  status_.decidedBy += remark;
  change_.reset();
  const int times = std::min(kMostReopened, status_.reopened);
  quietUntilCall_ = status_.calls + (kQuietCalls << times);
  ++status_.reopened;
  status_.state = TaskState::kSearching;
  policy_.reset();
  queue_.clear();
  stepsLost_ = false;
  unjudged_ = 0;
}

void TaskTuner::startSearch(const std::vector<Config>& neighbours) {
  heard_.clear();
  around_.clear();
  PolicyOptions search = options_.search;
  search.seed += status_.taskKey + static_cast<uint64_t>(status_.reopened);
  if (status_.config != space_.fallback) search.starts.push_back(status_.config);
  if (start_.known) search.starts.push_back(*start_.known);
  search.starts.insert(search.starts.end(), neighbours.begin(), neighbours.end());
  std::erase_if(search.starts, [&](const Config& c) { return !allowed(c); });
  policy_ = makePolicy(options_.policy, space_, search);
}

void TaskTuner::startConfirmation(const Config& candidate) {
  std::optional<Config> rival;
  if (status_.config != space_.fallback && allowed(status_.config)) rival = status_.config;
  const Config tested = candidate == space_.fallback && rival ? *rival : candidate;
  PolicyOptions options = options_.search;
  options.minGain = leastGain();
  confirmation_.emplace(space_.fallback, tested, rival, options, options_.confirmPairs);
  status_.state = TaskState::kConfirming;
}

/// Of one call. An untried config is priced by the engine's prior, at least as dear as a first
/// call so far, `caution` times over.
double TaskTuner::predictedExtraUs(const Config& c, double caution) const {
  if (c == status_.config) return 0;
  const double base = median(recentUs_);
  double ratio = 1 + caution * (dearestRatio_ - 1);
  if (proven_.contains(c)) {
    std::vector<double> us;
    for (auto r = status_.history.rbegin(); r != status_.history.rend() && us.size() < 3; ++r)
      if (r->config == c && r->medianUs > 0) us.push_back(r->medianUs);
    if (!us.empty() && base > 0) ratio = median(us) / base;
  } else {
    const double priorBase = space_.priorUs(status_.config), prior = space_.priorUs(c);
    if (priorBase > 0) ratio = std::max(ratio, prior / priorBase);
  }
  return std::max(0.0, ratio - 1) * base;
}

std::vector<Trial> TaskTuner::affordable(Allowance& left) {
  std::vector<Trial> plan, later;
  const double base = median(recentUs_);
  const double caution = kCaution + kFewCalls / (firstCalls_ + 1);
  double waiting = 0;
  for (const Trial& t : queue_) waiting += predictedExtraUs(t.config, caution) * t.calls;
  const bool paid = std::min(waiting, kLeastPlanCalls * base) <= left.budgetUs;
  status_.state = paid || queue_.empty() ? TaskState::kSearching : TaskState::kPaused;
  if (!paid || left.stepUs <= 0) return plan;
  const double most = left.mostUs + options_.openingCreditCalls * base;
  int mayBegin = firstCalls_ + 1;
  while (!queue_.empty() && plan.size() < kMostTrialsPerPlan) {
    Trial t = queue_.front();
    const bool begins = !proven_.contains(t.config);
    if (!allowed(t.config) || predictedExtraUs(t.config, 0) * t.calls > most) {
      heard_.push_back({t.config, 0, 0, true});  // never runs: for the policy a failed trial
      queue_.pop_front();
      continue;
    }
    const int rest = begins ? t.calls - 1 : 0;  // once the first call's cost is known
    t.calls -= rest;
    const double extra = predictedExtraUs(t.config, caution) * t.calls;
    const double inStep = bySteps() ? extra * callsPerStep_ / t.calls : extra;
    if (!plan.empty() && ((begins && mayBegin <= 0) || !left.affords(extra, inStep))) break;
    queue_.pop_front();
    left.take(extra, bySteps() ? 0 : inStep);  // where steps are compared, trials share none
    mayBegin -= begins;
    plan.push_back(t);
    if (rest > 0) later.push_back({t.config, rest});
  }
  queue_.insert(queue_.begin(), later.begin(), later.end());
  return plan;
}

std::optional<TablePlan> TaskTuner::propose(Allowance& left, const StepTable& steps,
                                            const NeighbourSource& neighbours) {
  if (round_ || status_.state == TaskState::kOff || status_.state == TaskState::kWarmUp)
    return std::nullopt;
  if (status_.state == TaskState::kConverged) {
    const bool tuned = status_.config != space_.fallback;
    if (tuned && drift_.due(status_.calls) && left.budgetUs >= 0) {
      phase_ = "drift";
      return publish(stretched(drift_.ask(space_.fallback, status_.config)));
    }
    return inService_ == status_.config ? std::nullopt : publish({});
  }
  if (stepCheck_) {
    phase_ = "step";
    return publish(stepCheck_->ask());
  }
  if (!confirmation_ && !policy_) {
    if (hopesForSteps(steps)) return std::nullopt;
    lookForSteps(steps);
    if (start_.known && status_.reopened == 0 && allowed(*start_.known) &&
        *start_.known != space_.fallback) {
      startConfirmation(*start_.known);
    } else {
      startSearch(neighbours());
    }
  }
  if (!confirmation_ && policy_->done() && queue_.empty()) startConfirmation(policy_->best());
  if (confirmation_) {
    phase_ = "confirm";
    status_.state = left.budgetUs >= 0 ? TaskState::kConfirming : TaskState::kPaused;
    return left.budgetUs >= 0 ? publish(stretched(confirmation_->ask())) : std::nullopt;
  }
  if (queue_.empty()) {
    const std::vector<Trial> asked = stretched(policy_->ask());
    queue_.assign(asked.begin(), asked.end());
    phase_ = policy_->phase();
  }
  std::vector<Trial> plan = affordable(left);
  if (!plan.empty()) return publish(std::move(plan));
  if (queue_.empty()) finishSearchRound();
  return std::nullopt;
}

std::optional<TablePlan> TaskTuner::publish(std::vector<Trial> trials) {
  TablePlan plan;
  plan.taskKey = status_.taskKey;
  quietSinceNs_ = 0;
  uint64_t offset = 0;
  for (const Trial& t : trials) {
    if (plan.entries.empty() || plan.entries.back().config != t.config)
      plan.entries.push_back({offset, t.config});
    offset += static_cast<uint64_t>(t.calls);
  }
  if (plan.entries.empty() || plan.entries.back().config != status_.config)
    plan.entries.push_back({offset, status_.config});
  plan.calls = offset;
  round_.emplace(std::move(trials));
  stepCalls_ = {};
  return plan;
}

}  // namespace autoccl
