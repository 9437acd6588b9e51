#include "edge/session/leader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/log.h"
#include "tune/statistics.h"

namespace autoccl {
namespace {

constexpr size_t kMaxSteps = 20000;                    // kept for the report
constexpr double kFullSamplingCallsPerSecond = 20000;  // above, settled tasks are sampled thinly
constexpr int64_t kRateWindowNs = 500'000'000;
/// Calls between a change and its trials, where only trials are measured: a rank learns from one
/// call of a task that the next one is to be measured, and the policy hears of the calls before.
constexpr uint64_t kLeadIn = 12;

double medianMs(const std::vector<StepRecord>& steps) {
  std::vector<double> ms;
  ms.reserve(steps.size());
  for (const StepRecord& s : steps) ms.push_back(s.ms);
  return median(ms);
}

TaskRecord toRecord(const TaskStatus& s, const std::string& communicator) {
  TaskRecord r;
  r.task = s.task;
  r.communicator = communicator;
  r.calls = s.calls;
  r.warmupCalls = s.warmupCalls;
  r.state = toText(s.state);
  r.defaultConfig = s.defaultConfig;
  r.config = s.config;
  r.defaultUs = s.defaultUs;
  r.tunedUs = s.tunedUs;
  r.defaultSe = s.defaultSe;
  r.tunedSe = s.tunedSe;
  r.confirmSamples = s.confirmSamples;
  r.gain = s.gain;
  r.gainLow = s.gainLow;
  r.gainHigh = s.gainHigh;
  r.decidedBy = s.decidedBy;
  r.convergedAtCall = s.convergedAtCall;
  r.convergedAtStep = s.convergedAtStep;
  r.convergedAtSecond = s.convergedAtSecond;
  r.lostUs = s.lostUs;
  r.savedUs = s.savedUs;
  r.modelAlphaUs = s.modelAlphaUs;
  r.modelBetaGBps = s.modelBetaGBps;
  r.modelResidual = s.modelResidual;
  for (const TrialRecord& t : s.history)
    r.history.push_back({t.config, t.fromCall, t.calls, t.samples, t.medianUs, t.phase, t.verdict,
                         t.version, t.second});
  return r;
}

std::vector<std::string> quarantineNotes(const TaskStatus& s) {
  std::vector<std::string> notes;
  for (const Config& c : s.quarantined) {
    const bool here = std::find(s.failedHere.begin(), s.failedHere.end(), c) != s.failedHere.end();
    notes.push_back(toText(s.task) + ": " + toText(c) +
                    (here ? " failed in this run"
                          : " was in flight when an earlier run ended, or failed in it") +
                    "; it and larger ones are not tried");
  }
  return notes;
}

std::string sentence(const TablePlan& plan, uint64_t fromCall, uint64_t version) {
  std::string line =
      "version " + std::to_string(version) + " task " + std::to_string(plan.taskKey) + ":";
  for (const auto& e : plan.entries)
    line += " from call " + std::to_string(fromCall + e.offset) + " " + toText(e.config) + ";";
  return line;
}

/// A config that is in force for some calls only is a trial, or what one is compared with.
bool hasTrials(const std::vector<TablePlan>& plans) {
  return std::any_of(plans.begin(), plans.end(),
                     [](const TablePlan& plan) { return plan.calls > 0; });
}

std::vector<std::pair<uint64_t, uint64_t>> lastTrials(const std::vector<TablePlan>& plans,
                                                      const std::vector<uint64_t>& fromCalls) {
  std::vector<std::pair<uint64_t, uint64_t>> last;
  for (size_t i = 0; i < plans.size(); ++i)
    if (plans[i].calls > 0) last.emplace_back(plans[i].taskKey, fromCalls[i] + plans[i].calls - 1);
  return last;
}

}  // namespace

Leader::Leader(Options options, Agreement& agreement, SampleBoard& board,
               Tuner::SpaceSource spaceFor)
    : options_(std::move(options)),
      agreement_(agreement),
      board_(board),
      tuner_(options_.tuner, std::move(spaceFor)),
      taskClocks_(options_.nRanks, options_.joinRule, options_.measuring == Measuring::kTrials),
      turn_("trials", options_.communicatorName) {
  for (const auto& [key, config] : options_.quarantined) tuner_.quarantine(key, config);
}

void Leader::step(int64_t nowNs) {
  meetNewTasks(nowNs);
  countCalls(nowNs);
  collectSamples();
  takeSteps();
  const int64_t fence = agreement_.fenceWaitNs();
  if (fence > fenceSeenNs_) tuner_.fenceWaited(static_cast<double>(fence - fenceSeenNs_) / 1e3);
  fenceSeenNs_ = fence;
  settleProposal(nowNs);
  proposeNext(nowNs);
  chooseSampling(nowNs);
}

void Leader::meetNewTasks(int64_t nowNs) {
  for (const Task& task : agreement_.newTasks()) {
    tasksMet_.push_back(keyOf(task));
    const auto known = options_.known ? options_.known(task) : std::nullopt;
    logLine(LogLevel::kInfo, "task " + std::to_string(keyOf(task)) + " is " + toText(task) +
                                 " on " + options_.communicatorName);
    tuner_.seen(task, known ? &*known : nullptr, nowNs);
  }
}

void Leader::countCalls(int64_t nowNs) {
  uint64_t all = 0;
  for (const uint64_t key : tasksMet_) {
    const uint64_t calls = agreement_.nextIndex(key);
    tuner_.issued(key, calls, nowNs);
    all += calls;
  }
  IssuedCall call;
  while (board_.issued().pop(call)) clock_.call(call.taskKey, call.atNs);
  if (options_.measuring == Measuring::kTrials && settledTasks() > 0) clock_.counted(all, nowNs);
}

void Leader::collectSamples() {
  CallSample sample;
  for (int rank = 0; rank < options_.nRanks; ++rank)
    while (board_.of(rank).samples.pop(sample)) {
      if (rank == 0 && options_.measuring == Measuring::kEveryCall)
        clock_.call(sample.taskKey, sample.arrivedNs);
      taskClocks_.put(rank, sample);
    }
  const auto calls = taskClocks_.take();
  if (calls.empty()) return;
  for (const TimedCall& call : calls) turn_.seen(call.taskKey, call.callIndex);
  tuner_.tell(calls);
}

void Leader::takeSteps() {
  const auto lengths = clock_.take();
  if (lengths.empty()) return;
  const int64_t exposed = board_.of(0).exposedNs.load(std::memory_order_relaxed);
  const double exposedMs =
      static_cast<double>(exposed - exposedSeenNs_) / 1e6 / static_cast<double>(lengths.size());
  exposedSeenNs_ = exposed;
  for (const StepLength& length : lengths) {
    tuner_.stepEnded(length.ms, length.endNs);
    const StepRecord step{length.ms, std::min(exposedMs, length.ms),
                          std::max(0.0, length.ms - exposedMs)};
    if (steps_.size() < kMaxSteps) steps_.push_back(step);
    auto& group = versions_ == 0 ? untouchedSteps_ : settledSteps_;
    if ((versions_ == 0 || settledTasks() > 0) && group.size() < kMaxSteps) group.push_back(step);
  }
}

void Leader::settleProposal(int64_t nowNs) {
  const auto outcome = agreement_.outcome();
  if (!outcome || proposed_.empty()) return;
  if (!outcome->committed) {
    logLine(LogLevel::kDebug, "a change was not agreed: " + outcome->reason);
    tuner_.aborted();
    proposed_.clear();
    turn_.giveBack(nowNs);
    return;
  }
  ++versions_;
  std::vector<uint64_t> fromCalls = outcome->fromCalls;
  for (size_t i = 0; i < proposed_.size(); ++i) {
    fromCalls[i] += leadIn(proposed_[i]);
    if (logLevel() >= LogLevel::kInfo)
      logLine(LogLevel::kInfo, sentence(proposed_[i], fromCalls[i], outcome->version));
    watches_.push_back({proposed_[i].taskKey, fromCalls[i] + proposed_[i].calls});
  }
  turn_.begun(lastTrials(proposed_, fromCalls), nowNs);
  tuner_.committed(outcome->version, fromCalls);
  proposed_.clear();
}

uint64_t Leader::leadIn(const TablePlan& plan) const {
  return plan.calls > 0 && options_.measuring == Measuring::kTrials ? kLeadIn : 0;
}

/// Where only trials are measured, an entry stands before them and one behind, so that every rank
/// sees them come and end, whatever the configs.
Proposal Leader::toProposal(const std::vector<TablePlan>& plans) const {
  Proposal proposal;
  for (const TablePlan& plan : plans) {
    Proposal::TaskPlan task{plan.taskKey, {}};
    const uint64_t lead = leadIn(plan);
    const Config& last = plan.entries.back().config;
    if (lead > 0) task.entries.push_back({0, last});
    for (const auto& entry : plan.entries)
      task.entries.push_back({entry.offset + lead, entry.config});
    if (lead > 0 && plan.entries.back().offset < plan.calls)
      task.entries.push_back({plan.calls + lead, last});
    proposal.tasks.push_back(std::move(task));
  }
  return proposal;
}

void Leader::proposeNext(int64_t nowNs) {
  turn_.step(nowNs);
  if (agreement_.off()) turn_.giveBack(nowNs);
  if (!proposed_.empty() || !agreement_.joined() || agreement_.off()) return;
  if (held_.empty()) held_ = tuner_.nextPlans(nowNs);
  if (held_.empty() || (hasTrials(held_) && !turn_.take(nowNs))) return;
  auto plans = std::exchange(held_, {});
  if (agreement_.propose(toProposal(plans), nowNs)) {
    proposed_ = std::move(plans);
  } else {
    tuner_.aborted();
    turn_.giveBack(nowNs);
  }
}

void Leader::chooseSampling(int64_t nowNs) {
  if (options_.measuring == Measuring::kTrials) return;  // there is nothing to thin out
  std::erase_if(watches_, [&](const Watch& w) {
    return agreement_.nextIndex(w.taskKey) > w.untilCall + options_.tuner.search.callsPerTrial;
  });
  if (nowNs - rateSinceNs_ < kRateWindowNs) {
    if (!watches_.empty()) board_.setSkipMask(0);
    return;
  }
  const int64_t calls = board_.of(0).calls.load(std::memory_order_relaxed);
  const double rate =
      static_cast<double>(calls - rateCalls_) * 1e9 / static_cast<double>(nowNs - rateSinceNs_);
  rateSinceNs_ = nowNs;
  rateCalls_ = calls;
  const bool thin = watches_.empty() && settledTasks() > 0 && rate > kFullSamplingCallsPerSecond;
  board_.setSkipMask(thin ? 15 : 0);
}

void Leader::addClock(TaskRecord& record, const TaskStatus& status) const {
  const bool onStream = taskClocks_.onStream(status.taskKey);
  record.clock = onStream ? "stream" : options_.measuring == Measuring::kTrials ? "kernel" : "host";
  if (!onStream) return;
  record.kernelDefaultUs = taskClocks_.besideUs(status.taskKey, status.defaultConfig);
  record.kernelTunedUs = taskClocks_.besideUs(status.taskKey, status.config);
  if (status.confirmSamples > 0) record.decidedBy += ", on the stream's clock";
}

std::vector<RankRecord> Leader::rankRecords() const {
  std::vector<RankRecord> ranks;
  for (int rank = 0; rank < options_.nRanks; ++rank) {
    const RankBoard& board = board_.of(rank);
    const auto wall = static_cast<double>(board.lastCallNs.load() - board.firstCallNs.load());
    const auto exposed = static_cast<double>(board.exposedNs.load());
    RankRecord r;
    r.rank = rank;
    r.exposedMs = exposed / 1e6;
    r.computeShare = wall > 0 ? std::clamp(1 - exposed / wall, 0.0, 1.0) : 0;
    r.droppedSamples = board.samples.dropped() + board.lost.load();
    if (rank == 0) r.discardedSamples = taskClocks_.discarded();
    ranks.push_back(r);
  }
  return ranks;
}

void Leader::addSums(RunRecord& record) const {
  const TunerTotals totals = tuner_.totals();
  record.communicationMs = totals.communicationUs / 1e3;
  record.fenceMs = totals.fenceUs / 1e3;
  record.tuningCostMs = (totals.lostUs + totals.fenceUs) / 1e3;
  record.netGainMs = totals.savedUs / 1e3 - record.tuningCostMs;
  record.breakEvenStep = totals.breakEvenStep;
  for (const TaskRecord& t : record.tasks) {
    record.convergedAtCall = std::max(record.convergedAtCall, t.convergedAtCall);
    record.convergedAtStep = std::max(record.convergedAtStep, t.convergedAtStep);
    record.convergedAtSecond = std::max(record.convergedAtSecond, t.convergedAtSecond);
  }
  if (totals.tasksRefused > 0)
    record.notes.push_back(std::to_string(totals.tasksRefused) +
                           " tasks beyond the table's bound ran the default");
}

RunRecord Leader::record() const {
  RunRecord record;
  record.engine = options_.engine;
  record.policy = options_.tuner.policy;
  record.objective = options_.tuner.objective;
  record.budgetShare = options_.tuner.budgetShare;
  record.steps = steps_;
  record.defaultStepMs = medianMs(untouchedSteps_);
  record.tunedStepMs = medianMs(settledSteps_);
  record.ranks = rankRecords();
  for (const TaskStatus& s : tuner_.status()) {
    record.tasks.push_back(toRecord(s, options_.communicatorName));
    addClock(record.tasks.back(), s);
    for (const std::string& note : quarantineNotes(s)) record.notes.push_back(note);
    std::string known = options_.describeDefault ? options_.describeDefault(s.task) : "";
    if (!known.empty()) record.notes.push_back(std::move(known));
  }
  addSums(record);
  if (const auto why = agreement_.off()) record.notes.push_back("tuning is off: " + *why);
  return record;
}

}  // namespace autoccl
