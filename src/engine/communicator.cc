#include "engine/communicator.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "engine/config_rules.h"

namespace autoccl {
namespace {

constexpr uint32_t kSpinsAlone = 2000;  // pauses before a rank with a CPU of its own gives it up
constexpr uint32_t kSpinsCrowded = 20;  // more ranks than CPUs: who waits is in the way
constexpr int64_t kQuarantineNs = 4'000'000'000;
constexpr int64_t kLastWordsNs = 200'000'000;
constexpr uint64_t kStreamBytes = uint64_t{32} << 20;  // from here non-temporal stores pay

bool overlap(uint64_t a, uint64_t aBytes, uint64_t b, uint64_t bBytes) noexcept {
  return aBytes != 0 && bBytes != 0 && a < b + bBytes && b < a + aBytes;
}

uint32_t regionOf(const void* buffer, uint64_t bytes) noexcept {
  return bytes == 0 ? kUnusedBuffer : Regions::ofProcess().idOf(buffer, bytes);
}

}  // namespace

// ---- issue ----

Task Communicator::taskOf(const Call& call) noexcept {
  Task task;
  task.collective = call.collective;
  task.dtype = call.dtype;
  task.op = reduces(call.collective) ? call.op : ReduceOp::kSum;
  task.nRanks = size();
  const uint64_t bytes = nBytesOf(call, size());
  const auto end = exactSizes_.begin() + nExact_;
  bool exact = (bytes & (bytes - 1)) == 0 || std::find(exactSizes_.begin(), end, bytes) != end;
  if (!exact && nExact_ < static_cast<int>(exactSizes_.size())) {
    exactSizes_[static_cast<size_t>(nExact_++)] = bytes;
    exact = true;
  }
  task.bytes = exact ? bytes : sizeClass(bytes);
  return task;
}

Communicator::Issue Communicator::issue(const Call& call) noexcept {
  while (issuing_.test_and_set(
      std::memory_order_acquire)) {  // two threads at once: a fault of the program
  }
  Issue issue;
  issue.turn = issued_++;
  issue.task = taskOf(call);
  issue.config = pinned_ ? *pinned_ : defaultFor(issue.task);
  issue.gated = gate_ != nullptr && !pinned_ && call.collective != Collective::kBarrier;
  if (issue.gated) issue.ticket = gate_->take(issue.task, issue.config);
  issuing_.clear(std::memory_order_release);
  return issue;
}

Communicator::Issue Communicator::issueUntuned(const Call& call) noexcept {
  Issue issue = issueMail();
  issue.task.bytes = nBytesOf(call, size());
  issue.config = defaultFor(issue.task);
  return issue;
}

// ---- execution ----

void Communicator::awaitTurn(const Issue& issue) noexcept {
  for (uint64_t now = turn_.load(std::memory_order_acquire); now != issue.turn;
       now = turn_.load(std::memory_order_acquire))
    turn_.wait(now, std::memory_order_acquire);
}

void Communicator::passTurn(const Issue& issue) noexcept {
  turn_.store(issue.turn + 1, std::memory_order_release);
  turn_.notify_all();
}

bool Communicator::execute(const Call& call, const Issue& issue) noexcept {
  awaitTurn(issue);
  const bool done = !broken() && runCall(call, issue);
  if (!done) explainBreak();
  passTurn(issue);
  return done;
}

bool Communicator::runCall(const Call& call, const Issue& issue) noexcept {
  Config asked = issue.config;
  if (issue.gated && !gate_->resolve(issue.ticket, asked)) {
    breakWith(ErrorCode::kTimeout, "the ranks could not agree on a config in time");
    return false;
  }
  if (check_ && issue.gated && asked != issue.config) return runChecked(call, issue, asked);
  const Ran ran = carryOut(call, asked);
  if (issue.gated) tell(issue, asked, ran, !ran.done);
  return ran.done;
}

Communicator::Ran Communicator::carryOut(const Call& call, const Config& asked) noexcept {
  board(call, asked);
  const bool zero = asked.protocol == Protocol::kZero;
  const bool small = runsSmall(asked, flight_.shape, flight_.nBytes, ordinaryLast_);
  Ran ran{enter(call, small, zero), asked, 0, 0, 0};
  if (ran.done) {
    if (zero || !small) ran.effect = inEffect(zero);
    if (small) ran.effect = smallConfig(asked);
    flight_.config = ran.effect;
    if (small) smallOut(flight_);
    ran.done = small || travel(ran.effect);
  }
  if (gate_ != nullptr) {
    ran.finishedNs = nowNs();
    ran.arrivedNs = layout_.entry(calls_, rank()).entry.arrivedNs;
    for (int r = 0; r < size(); ++r)
      ran.lastArrivalNs = std::max(ran.lastArrivalNs, layout_.entry(calls_, r).entry.arrivedNs);
  }
  lastConfig_ = ran.effect;
  layout_.info(rank()).leftCall.store(calls_, std::memory_order_release);
  askBackSlots(flight_, small);
  return ran;
}

void Communicator::tell(const Issue& issue, const Config& asked, const Ran& ran,
                        bool failed) noexcept {
  CallRecord record;
  record.taskKey = keyOf(issue.task);
  record.callIndex = issue.ticket.index;
  record.asked = asked;
  record.inEffect = ran.effect;
  record.arrivedNs = ran.arrivedNs;
  record.lastArrivalNs = ran.lastArrivalNs;
  record.finishedNs = ran.finishedNs;
  record.failed = failed;
  record.untouched = asked == issue.config;
  gate_->report(record);
}

bool Communicator::runChecked(const Call& call, const Issue& issue, const Config& asked) noexcept {
  try {
    const bool first = check_->firstTime(keyOf(issue.task), asked);
    if (first) check_->keepInput(call, rank(), size());
    const Ran ran = carryOut(call, asked);
    if (!first || !ran.done) {
      tell(issue, asked, ran, !ran.done);
      return ran.done;
    }
    check_->keepResult(call);
    const bool again = carryOut(call, issue.config).done;
    const bool agrees = again && check_->agrees(call, size());
    tell(issue, asked, ran, !agrees);
    if (again && !agrees)
      logLine(LogLevel::kWarn, "check: " + toText(asked) +
                                   " gave another result than the default for " +
                                   toText(issue.task) + "; the default's was kept");
    return again;
  } catch (const std::exception& error) {
    breakWith(ErrorCode::kSystem, std::string("check mode: ") + error.what());
    return false;
  }
}

void Communicator::board(const Call& call, const Config& config) noexcept {
  Flight& f = flight_;
  f.call = &call;
  f.shape = shapeOf(call, size());
  f.nBytes = nBytesOf(call, size());
  if (config != askedLast_) clampedLast_ = clampConfig(askedLast_ = config, host_);
  f.config = clampedLast_;
  f.number = ++calls_;
  f.rules = rulesFor(static_cast<WaitPolicy>(config.extra));
  f.failed.store(false, std::memory_order_relaxed);
  f.send[static_cast<size_t>(rank())] = static_cast<std::byte*>(const_cast<void*>(call.send));
  f.recv[static_cast<size_t>(rank())] = static_cast<std::byte*>(call.recv);
}

bool Communicator::enter(const Call& call, bool small, bool needsKinds) noexcept {
  const uint32_t number = flight_.number;
  EntrySlot& slot = layout_.entry(number, rank());
  Entry& mine = slot.entry;
  const Terms terms{signatureOf(call, size()), flight_.config};
  if (slot.terms != terms) slot.terms = terms;
  mine.terms = hashOf(terms);
  mine.sendAddress = reinterpret_cast<uint64_t>(call.send);
  mine.recvAddress = reinterpret_cast<uint64_t>(call.recv);
  mine.scale = call.scale;
  mine.arrivedNs = gate_ != nullptr ? nowNs() : 0;
  if (!small || needsKinds) tellKinds(call, mine);
  if (call.collective == Collective::kAllToAllv) {
    size_t* row = layout_.counts(number, rank());
    for (const size_t* from : {call.sendCounts, call.sendDispls, call.recvCounts, call.recvDispls})
      row = std::copy_n(from, size(), row);
  }
  if (small) smallIn(flight_);
  raise(mine.flag, number);
  for (int i = 1; i < size(); ++i)
    if (!waitFor(layout_.entry(number, (rank() + i) % size()).entry.flag, number, flight_.rules))
      return false;
  return checkEntries();
}

void Communicator::tellKinds(const Call& call, Entry& mine) const noexcept {
  const uint64_t sent = sendExtent(call, rank(), size());
  const uint64_t received = recvExtent(call, rank(), size());
  mine.sendRegion = regionOf(call.send, sent);
  mine.recvRegion = regionOf(call.recv, received);
  mine.inPlace = overlap(mine.sendAddress, sent, mine.recvAddress, received);
}

bool Communicator::checkEntries() noexcept {
  const uint32_t number = flight_.number;
  const uint64_t terms = layout_.entry(number, rank()).entry.terms;
  for (int r = 0; r < size(); ++r) {
    const EntrySlot& slot = layout_.entry(number, r);
    flight_.scale[static_cast<size_t>(r)] = slot.entry.scale;
    flight_.peerSend[static_cast<size_t>(r)] = slot.entry.sendAddress;
    flight_.peerRecv[static_cast<size_t>(r)] = slot.entry.recvAddress;
    if (slot.entry.terms != terms) {
      breakWith(ErrorCode::kUsage, disagreement(*flight_.call, layout_.entry(number, rank()).terms,
                                                slot.terms, rank(), r, number));
      return false;
    }
  }
  if (flight_.shape.collective == Collective::kAllToAllv) {
    const auto n = static_cast<size_t>(size());
    for (int r = 0; r < size(); ++r) {
      const size_t* row = layout_.counts(number, r);
      flight_.rows[static_cast<size_t>(r)] = {row, row + n, row + 2 * n, row + 3 * n};
    }
    flight_.shape.rows = flight_.rows.data();
  }
  return layout_.control().epoch.load(std::memory_order_seq_cst) == 0;
}

Config Communicator::inEffect(bool asksZero) noexcept {
  Flight& f = flight_;
  Kinds kinds;
  kinds.nBytes = f.nBytes;
  kinds.nRanks = size();
  kinds.cma = host_.cma;
  for (int r = 0; r < size(); ++r) {
    const Entry& e = layout_.entry(f.number, r).entry;
    kinds.sendShared &= sameProcess_ || e.sendRegion != 0;
    kinds.recvShared &= sameProcess_ || e.recvRegion != 0;
    kinds.inPlace |= e.inPlace;
  }
  f.nonTemporal = kinds.nBytes >= kStreamBytes && !kinds.inPlace;
  Config effect = configInEffect(f.config, f.shape.collective, kinds);
  if (isPlanned(effect.algorithm) && !plans_->offers(effect, f.shape.collective)) {
    effect.algorithm = Algorithm::kTwoShot;
    if (effect.protocol == Protocol::kLL) effect.protocol = Protocol::kSimple;
  }
  if (asksZero) ordinaryLast_ = effect.protocol != Protocol::kZero;
  return effect;
}

std::byte* Communicator::peerPointer(int r, uint32_t region, uint64_t address) noexcept {
  const RankInfo& info = layout_.info(r);
  if (region == kUnusedBuffer) return nullptr;
  if (info.server.process == layout_.info(rank()).server.process)
    return reinterpret_cast<std::byte*>(address);
  Seen& seen = seen_[static_cast<size_t>(r)][region % kSeen];
  if (seen.id != region) {
    seen.region = mapPeerRegion(info.server, region);
    seen.id = seen.region ? region : 0;
  }
  if (!seen.region) return nullptr;
  return seen.region->local + (address - seen.region->ownerBegin);
}

bool Communicator::reach(bool pulled) noexcept {
  const bool needRecv = !pulled;
  for (int r = 0; r < size(); ++r) {
    if (r == rank() || (pulled && !pullsFrom(flight_.shape, rank(), r))) continue;
    const Entry& e = layout_.entry(flight_.number, r).entry;
    const auto i = static_cast<size_t>(r);
    flight_.send[i] = peerPointer(r, e.sendRegion, e.sendAddress);
    if (needRecv) flight_.recv[i] = peerPointer(r, e.recvRegion, e.recvAddress);
    const bool lost = (flight_.send[i] == nullptr && e.sendRegion != kUnusedBuffer) ||
                      (needRecv && flight_.recv[i] == nullptr && e.recvRegion != kUnusedBuffer);
    if (lost) return false;
  }
  return true;
}

bool Communicator::travel(const Config& config) noexcept {
  if (flight_.shape.collective == Collective::kBarrier) return true;
  const bool split = config.algorithm == Algorithm::kTwoShot;
  if (config.protocol == Protocol::kZero) {
    const bool claimed = split && !isPlanned(config.algorithm);
    pool_.prepare(flight_.workers());  // though the others may leave nothing to do
    if (claimed) countClaimed(flight_);
    if (claimed && isClaimedDone(flight_)) return true;
    if (!reach(config.algorithm == Algorithm::kOneShot)) {
      if (claimed && isClaimedDone(flight_)) return true;
      breakWith(
          ErrorCode::kRemote,
          "a registered buffer of another rank cannot be mapped; was it freed during the call?");
      return false;
    }
    if (claimed) return runClaimed(flight_, pool_);
    if (!isPlanned(config.algorithm)) return runPulled(flight_, pool_);
  }
  if (isPlanned(config.algorithm)) return plans_->run(flight_, pool_);
  if (config.transport == Transport::kCma) return runCma(flight_, pool_);
  return runStaged(flight_, pool_, split);
}

// ---- waiting and failing ----

WaitRules Communicator::rulesFor(WaitPolicy policy) noexcept {
  WaitRules rules;
  rules.policy = policy;
  rules.spins = host_.crowded() ? kSpinsCrowded : kSpinsAlone;
  rules.epoch = &layout_.control().epoch;
  rules.alive = stillAlive;
  rules.aliveContext = this;
  return rules;
}

bool Communicator::stillAlive(void* context) noexcept {
  auto& self = *static_cast<Communicator*>(context);
  // Who died after this call was over for it has done its part.
  return self.liveness_.findDead([&](int r) {
    return !reached(self.layout_.info(r).leftCall.load(std::memory_order_acquire),
                    self.flight_.number);
  }) < 0;
}

bool Communicator::broken() const noexcept {
  return layout_.control().epoch.load(std::memory_order_acquire) != 0;
}

void Communicator::breakWith(ErrorCode code, const std::string& text) noexcept {
  Control& control = layout_.control();
  int32_t nobody = 0;
  if (control.brokenBy.compare_exchange_strong(nobody, rank() + 1, std::memory_order_seq_cst))
    control.brokenCode.store(static_cast<int32_t>(code), std::memory_order_release);
  control.epoch.store(1, std::memory_order_seq_cst);
  const std::lock_guard lock(failureMutex_);
  if (!failure_)
    failure_ = Failure{code, options_.name + ", rank " + std::to_string(rank()) + ": " + text};
}

void Communicator::abort() noexcept {
  breakWith(ErrorCode::kRemote, "the communicator was aborted");
}

void Communicator::explainBreak() noexcept {
  const auto missing = [&](int r) {
    return !reached(layout_.info(r).leftCall.load(std::memory_order_acquire), calls_);
  };
  int dead = liveness_.findDead(missing);
  // A process that is on its way out refuses copies a little before it counts as ended.
  for (const int64_t until = nowNs() + kLastWordsNs; dead < 0 && !broken() && nowNs() < until;)
    dead = liveness_.findDead(missing);
  const std::string where = flight_.call ? " during call " + std::to_string(calls_) + " (" +
                                               std::string(toText(flight_.shape.collective)) + ")"
                                         : "";
  if (dead >= 0)
    breakWith(ErrorCode::kRemote, "rank " + std::to_string(dead) + " (process " +
                                      std::to_string(layout_.info(dead).pid) + ") ended" + where);
  else if (!broken())
    breakWith(ErrorCode::kSystem, "a copy between processes was refused" + where);
  else
    breakWith(static_cast<ErrorCode>(layout_.control().brokenCode.load(std::memory_order_acquire)),
              "rank " +
                  std::to_string(layout_.control().brokenBy.load(std::memory_order_acquire) - 1) +
                  " broke the communicator" + where);
  quarantine();
}

/// Returns when no living peer can still touch this rank's buffers.
void Communicator::quarantine() noexcept {
  const int64_t deadline = nowNs() + kQuarantineNs;
  const auto inside = [&](int r) {
    const uint32_t even = layout_.entry(0, r).entry.flag.value.load(std::memory_order_seq_cst);
    const uint32_t odd = layout_.entry(1, r).entry.flag.value.load(std::memory_order_seq_cst);
    const uint32_t entered = reached(even, odd) ? even : odd;
    return layout_.info(r).leftCall.load(std::memory_order_acquire) != entered;
  };
  WaitRules rules;
  rules.policy = WaitPolicy::kFutex;
  uint32_t turns = 0;
  for (int r = 0; r < size(); ++r)
    while (r != rank() && inside(r) && !liveness_.dead(r) && nowNs() < deadline)
      (void)waitOnce(turns, rules);
}

Failure Communicator::failure() const {
  const std::lock_guard lock(failureMutex_);
  if (failure_) return *failure_;
  return {static_cast<ErrorCode>(layout_.control().brokenCode.load(std::memory_order_acquire)),
          options_.name + ": broken by rank " +
              std::to_string(layout_.control().brokenBy.load(std::memory_order_acquire) - 1)};
}

Config Communicator::defaultFor(const Task& task) const noexcept {
  return defaultConfig(task, host_);
}

Space Communicator::spaceFor(const Task& task) const {
  return spaceOf(task, host_);
}

void Communicator::pin(const std::optional<Config>& config) {
  if (config) checkConfig(*config, host_);
  pinned_ = config;
}

Config Communicator::lastConfig() const noexcept {
  return lastConfig_;
}

}  // namespace autoccl
