#include "tune/tuner.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "tune/budget.h"
#include "tune/journal.h"
#include "tune/task_tuner.h"

namespace autoccl {
namespace {

constexpr size_t kMostNeighbours = 2;
constexpr double kStepShare = 0.5;      // predicted extra of all trials in a step, of a median step
constexpr double kLostAfterSteps = 16;  // without an end of a step there are none any more
constexpr double kFarthestSize = 4.5;   // as a ratio of bytes

double sizeDistance(const Task& a, const Task& b) {
  return std::abs(
      std::log(double(std::max<uint64_t>(1, a.bytes)) / double(std::max<uint64_t>(1, b.bytes))));
}

bool alike(const Task& a, const Task& b) {
  return a.collective == b.collective && a.nRanks == b.nRanks && a.dtype == b.dtype && a.op == b.op;
}

void checkOptions(const TunerOptions& o) {
  if (o.objective != "time" && o.objective != "step" && o.objective != "sm")
    throw Error(ErrorCode::kUsage, "unknown objective '" + o.objective + "'",
                "allowed: time, step, sm");
  const auto names = policyNames();
  if (std::find(names.begin(), names.end(), o.policy) == names.end())
    (void)makePolicy(o.policy, Space{}, {});
}

}  // namespace

class Tuner::Impl {
 public:
  Impl(TunerOptions options, SpaceSource spaceFor)
      : options_(std::move(options)),
        spaceFor_(std::move(spaceFor)),
        budget_(options_.budgetShare, options_.budgetHorizonS) {
    checkOptions(options_);
  }

  void seen(const Task& task, const Config* known, int64_t nowNs) {
    latestNs_ = std::max(latestNs_, nowNs);
    const uint64_t key = keyOf(task);
    if (byKey_.contains(key)) return;
    if (tasks_.size() >= options_.maxTasks) {
      if (refused_.size() < kMostRefused) refused_.insert(key);
      return;
    }
    if (tasks_.empty()) firstNs_ = nowNs;
    TaskTuner::Start start;
    start.task = task;
    start.key = key;
    if (known) start.known = *known;
    start.quarantined = quarantined_[key];
    start.nowNs = firstNs_;
    tasks_.emplace_back(options_, spaceFor_(task), std::move(start));
    byKey_[key] = &tasks_.back();
  }

  void tell(const std::vector<TimedCall>& calls) {
    for (const TimedCall& c : calls) {
      latestNs_ = std::max(latestNs_, c.atNs);
      if (!c.failed && c.us > 0) communicationUs_ += c.us;
      const auto at = byKey_.find(c.taskKey);
      if (at != byKey_.end()) at->second->call(c, budget_, steps_);
    }
    noteBreakEven();
    writeJournal();
  }

  void issued(uint64_t taskKey, uint64_t calls, int64_t nowNs) {
    const auto at = byKey_.find(taskKey);
    if (at == byKey_.end()) return;
    communicationUs_ += at->second->issued(calls, nowNs, budget_, steps_);
  }

  void stepEnded(double ms, int64_t nowNs) {
    latestNs_ = std::max(latestNs_, nowNs);
    if (ms > 0) steps_.ended(ms, nowNs);
    askedOfStepUs_ = 0;
  }

  std::vector<TablePlan> nextPlans(int64_t nowNs) {
    latestNs_ = std::max(latestNs_, nowNs);
    std::vector<TablePlan> plans;
    if (!outstanding_.empty()) return plans;
    if (oneAtATime() &&
        std::any_of(tasks_.begin(), tasks_.end(), [&](auto& t) { return t.busy(latestNs_); }))
      return plans;
    TaskTuner::Allowance left{budget_.creditUs(), budget_.mostUs()};
    const double stepUs = steps_.medianMs() * 1e3;
    if (double(latestNs_ - steps_.lastNs()) < kLostAfterSteps * stepUs * 1e3)
      left.stepUs = kStepShare * stepUs - askedOfStepUs_;
    const double stepsBefore = left.stepUs;
    for (TaskTuner& t : tasks_) {
      if (auto plan = t.propose(left, steps_, [&] { return neighboursOf(t); })) {
        plans.push_back(std::move(*plan));
        outstanding_.push_back(&t);
      }
      if (!plans.empty() && oneAtATime()) break;
    }
    if (std::isfinite(left.stepUs)) askedOfStepUs_ += stepsBefore - left.stepUs;
    writeJournal();
    return plans;
  }

  void committed(uint64_t version, const std::vector<uint64_t>& fromCalls) {
    for (size_t i = 0; i < std::min(fromCalls.size(), outstanding_.size()); ++i)
      outstanding_[i]->committed(version, fromCalls[i]);
    outstanding_.clear();
  }

  void aborted() {
    for (TaskTuner* t : outstanding_) t->aborted();
    outstanding_.clear();
    writeJournal();
  }

  void fenceWaited(double us) {
    fenceUs_ += us;
    budget_.spend(us);
  }

  void quarantine(uint64_t taskKey, const Config& config) {
    quarantined_[taskKey].push_back(config);
    if (const auto at = byKey_.find(taskKey); at != byKey_.end()) at->second->quarantine(config);
  }

  [[nodiscard]] bool settled() const {
    return outstanding_.empty() &&
           std::all_of(tasks_.begin(), tasks_.end(), [&](auto& t) { return t.settled(latestNs_); });
  }

  [[nodiscard]] std::vector<TaskStatus> status() const {
    std::vector<TaskStatus> all;
    for (const TaskTuner& t : tasks_) all.push_back(t.status());
    return all;
  }

  [[nodiscard]] TunerTotals totals() const {
    TunerTotals sum;
    for (const TaskTuner& t : tasks_) {
      sum.lostUs += t.status().lostUs;
      sum.savedUs += t.status().savedUs;
    }
    sum.communicationUs = communicationUs_;
    sum.fenceUs = fenceUs_;
    sum.creditUs = budget_.creditUs();
    sum.steps = steps_.count();
    sum.breakEvenStep = breakEvenStep_;
    sum.tasksRefused = refused_.size();
    return sum;
  }

 private:
  static constexpr size_t kMostRefused = 65536;

  /// Steps are compared: a trial of one task would blur another's.
  [[nodiscard]] bool oneAtATime() const {
    return std::any_of(tasks_.begin(), tasks_.end(), [](auto& t) { return t.comparesSteps(); });
  }

  /// Winners of the same collective at the nearest sizes: starting points.
  [[nodiscard]] std::vector<Config> neighboursOf(const TaskTuner& t) const {
    const Task& task = t.status().task;
    std::vector<std::pair<double, Config>> near;
    for (const TaskTuner& other : tasks_) {
      const TaskStatus& s = other.status();
      if (&other == &t || s.config == s.defaultConfig || !alike(task, s.task)) continue;
      const double away = sizeDistance(task, s.task);
      if (away <= std::log(kFarthestSize)) near.emplace_back(away, s.config);
    }
    std::sort(near.begin(), near.end());
    std::vector<Config> chosen;
    for (size_t i = 0; i < std::min(kMostNeighbours, near.size()); ++i)
      chosen.push_back(near[i].second);
    return chosen;
  }

  void noteBreakEven() {
    if (breakEvenStep_ != 0 || steps_.count() == 0) return;
    const TunerTotals sum = totals();
    if (sum.savedUs > 0 && sum.savedUs >= sum.lostUs + sum.fenceUs) breakEvenStep_ = steps_.count();
  }

  void writeJournal() {
    if (!options_.journal) return;
    Journal journal;
    for (const TaskTuner& t : tasks_) {
      for (const Config& c : t.inFlight()) journal.inFlight.push_back({t.key(), c});
      for (const Config& c : t.status().quarantined) journal.quarantined.push_back({t.key(), c});
    }
    for (const auto& [key, configs] : quarantined_)
      if (!byKey_.contains(key))
        for (const Config& c : configs) journal.quarantined.push_back({key, c});
    if (journal == written_) return;
    written_ = journal;
    options_.journal(formatJournal(journal));
  }

  TunerOptions options_;
  SpaceSource spaceFor_;
  Budget budget_;
  StepTable steps_;
  std::deque<TaskTuner> tasks_;  // stay where they are
  std::map<uint64_t, TaskTuner*> byKey_;
  std::map<uint64_t, std::vector<Config>> quarantined_;
  std::set<uint64_t> refused_;
  std::vector<TaskTuner*> outstanding_;
  Journal written_;
  double communicationUs_ = 0, fenceUs_ = 0;
  double askedOfStepUs_ = 0;  // predicted extra of the trials asked for since the step began
  uint64_t breakEvenStep_ = 0;
  int64_t firstNs_ = 0, latestNs_ = 0;
};

Tuner::Tuner(TunerOptions options, SpaceSource spaceFor)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(spaceFor))) {}
Tuner::~Tuner() = default;
void Tuner::seen(const Task& task, const Config* known, int64_t nowNs) {
  impl_->seen(task, known, nowNs);
}
void Tuner::tell(const std::vector<TimedCall>& calls) {
  impl_->tell(calls);
}
void Tuner::issued(uint64_t taskKey, uint64_t calls, int64_t nowNs) {
  impl_->issued(taskKey, calls, nowNs);
}
void Tuner::stepEnded(double ms, int64_t nowNs) {
  impl_->stepEnded(ms, nowNs);
}
std::vector<TablePlan> Tuner::nextPlans(int64_t nowNs) {
  return impl_->nextPlans(nowNs);
}
void Tuner::committed(uint64_t version, const std::vector<uint64_t>& fromCalls) {
  impl_->committed(version, fromCalls);
}
void Tuner::aborted() {
  impl_->aborted();
}
void Tuner::fenceWaited(double us) {
  impl_->fenceWaited(us);
}
void Tuner::quarantine(uint64_t taskKey, const Config& config) {
  impl_->quarantine(taskKey, config);
}
bool Tuner::settled() const {
  return impl_->settled();
}
std::vector<TaskStatus> Tuner::status() const {
  return impl_->status();
}
TunerTotals Tuner::totals() const {
  return impl_->totals();
}

}  // namespace autoccl
