#include "edge/nccl/comm_context.h"

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "edge/nccl/chunk_rule.h"
#include "edge/nccl/device.h"
#include "edge/nccl/inside.h"
#include "edge/nccl/open_session.h"
#include "edge/nccl/plugin_side.h"
#include "edge/session/session.h"

namespace autoccl::nccl {
namespace {

constexpr uint64_t kWindow = 64;           // of a settled task's calls, that many are measured …
constexpr uint64_t kWindowPeriod = 16384;  // … out of these, the same ones on all ranks
constexpr uint8_t kPortrait = 24;          // calls stamped of what a task on streams has settled on
constexpr uint64_t kForgotten = 8192;      // calls after which nobody waits for a task any more

bool inWindow(uint64_t callIndex) noexcept {
  return callIndex % kWindowPeriod >= kWindowPeriod - kWindow;
}

uint64_t packedChunk(Pair pair, uint32_t chunk) noexcept {
  return uint64_t{chunk} << 8 | static_cast<uint64_t>(pair.algo * kProtos + pair.proto + 1);
}

}  // namespace

CommContext::CommContext(const Origin& origin, Sampling& sampling)
    : origin_(origin), sampling_(sampling), book_(origin.nRanks) {}

CommContext::~CommContext() {
  close();
}

void CommContext::learn(const Origin& more) noexcept {
  if (more.commId != 0) origin_.commId = more.commId;
  if (more.rank >= 0) origin_.rank = more.rank;
  if (more.nNodes > 0) origin_.nNodes = more.nNodes;
  if (more.tunerVersion > 0) origin_.tunerVersion = more.tunerVersion;
  if (more.profilerVersion > 0) origin_.profilerVersion = more.profilerVersion;
  if (more.known != nullptr) origin_.known = more.known;
}

void CommContext::end() noexcept {
  ended_.store(true, std::memory_order_seq_cst);
  why_.store("its communicator has ended", std::memory_order_relaxed);
  if (KnownCommunicator* known = known_.exchange(nullptr)) known->wantsTimes.store(false);
  const Inside inside(*this);  // the session lives as long as somebody is inside its gate
  if (inside.gate() != nullptr && session_) session_->abort();
}

void CommContext::close() noexcept {
  end();
  forEachVariant([](CommContext& variant) { variant.base_.store(nullptr); });
  if (CommContext* base = base_.exchange(nullptr))
    for (auto& place : base->variants_)
      if (place.load() == this) place.store(nullptr);
  setGate(nullptr);
  session_.reset();
  setStamps(false);
  if (std::exchange(listens_, false)) sampling_.unlisten();
}

void CommContext::setGate(CallGate* gate) noexcept {
  gate_.store(gate, std::memory_order_seq_cst);
  forEachVariant([gate](CommContext& variant) { variant.setGate(gate); });
  if (gate != nullptr) return;
  while (inside_.load(std::memory_order_seq_cst) != 0) {
  }
}

void CommContext::open(const CallNote& note) noexcept {
  if (std::exchange(opened_, true) || gate_.load() != nullptr || ended_.load()) return;
  if (note.communicator != nullptr || origin_.known == nullptr)
    origin_.known = communicatorOfCall(origin_.nRanks, currentDevice());
  if (origin_.known != nullptr) {
    known_.store(origin_.known);
    origin_.known->context.store(this);
    if (origin_.rank < 0) origin_.rank = origin_.known->rank;
  }
  const Opened opened = openSession(origin_, *this);
  why_.store(opened.why, std::memory_order_relaxed);
  if (opened.session == nullptr) return;
  session_.reset(opened.session);
  setStamps(true);
  if (KnownCommunicator* known = known_.load()) {
    known->wantsTimes.store(true);
  } else if (hearsOfCapture()) {
    listens_ = true;
    sampling_.listen();
  }
}

// HOT
Answer CommContext::decide(const Question& q) noexcept {
  CallNote& note = callNote;
  const auto collective = collectiveOf(q.func);
  // Nothing will run (a simulated group, 2.31's symmetric query), so nothing may be counted.
  if (note.simulating || q.pipeOps <= 0 || q.possible == 0 || !collective || q.nBytes == 0)
    return {};
  noteChunk(q.func, {}, 0);
  if (note.decided || isVariant()) return answerDecided(q, note);
  const bool stamped = stampsOn_.load(std::memory_order_relaxed);  // when the program called
  if (!opened_) [[unlikely]]
    open(note);
  const Inside inside(*this);
  CallGate* gate = inside.gate();
  if (gate == nullptr || ended_.load(std::memory_order_relaxed)) {
    countUntouched(why());
    return {};
  }
  const PairSet kind = q.possible | (note.switchable ? kSwitchable : 0);
  const Task task = book_.taskOf(*collective, q.nBytes, kind);
  const uint64_t key = keyOf(task);
  TaskMeasuring* const measuring = book_.meet(key, q.costs);
  CallGate::Ticket ticket = gate->take(task, kUntouched);
  gate->issued(key);
  ticket.calm = note.capturing || (hearsOfCapture() && capturing_.load(std::memory_order_relaxed));
  Config config = kUntouched;
  TaskStage stage{};
  if (!gate->resolve(ticket, config, stage)) [[unlikely]]
    return broken();
  watch(measuring, {ticket.index, config, stage});
  remember(task, ticket, config);
  // A captured call runs when its graph does, unseen; its event belongs to no decision.
  if (stamped && !ticket.calm)
    stamps_.decided({key, ticket.index, config, q.func, q.nBytes, note.timed && note.measure});
  const auto pair = pairOf(config);
  if (!pair) {
    countUntouched("NCCL's own choice is in force");
    return {};
  }
  countTuned();
  noteChunk(q.func, *pair, config.chunk);
  return {Answer::Kind::kForce, *pair, config.channels};
}

Answer CommContext::broken() noexcept {
  if (ended_.load()) return {};
  if (KnownCommunicator* known = known_.load()) known->broken.store(true);
  why_.store("a rank in doubt waited too long for a verdict", std::memory_order_relaxed);
  if (!told_.exchange(true))
    logLine(autoccl::LogLevel::kWarn,
            "a change of configs was announced and its verdict never came: this rank cannot know "
            "what the others run, so the communicator fails; see AUTOCCL_FENCE_TIMEOUT");
  return {Answer::Kind::kFail, {}, 0};
}

// HOT. Which calls are measured, and how: trials, and those of young tasks, which nothing has been
// tried for; on their stream where the interposer times them there, by stamps elsewhere. Young
// tasks get both, so that the leader knows which it will be. The mask is read when the program
// calls, before the tuner is asked: what is switched on here is in force from the next call on.
void CommContext::watch(TaskMeasuring* task, const Decided& call) noexcept {
  ++calls_;
  CallNote& note = callNote;
  note.measure = note.measureNext = false;
  if (task == nullptr) return;
  const bool settled = session_ != nullptr && session_->settled();
  const bool young = call.stage == TaskStage::kUntried && !settled;
  const bool always = young || call.stage == TaskStage::kTrial;
  if (young && note.timed) task->onStream = true;
  note.measure = always || inWindow(call.index);
  note.measureNext = young || (task->onStream && (always || inWindow(call.index + 1)));
  const bool stamps = young || (note.measure && !task->onStream) || portrays(*task, call, settled);
  if (stamps) stampedAt_ = calls_;
  if (std::exchange(task->wantsStamps, stamps) != stamps) wantingTasks_ += stamps ? 1 : -1;
  setStamps(wantingTasks_ > 0 && calls_ - stampedAt_ < kForgotten);
}

/// Once, when everything has settled, for the kernel's time beside the stream's.
bool CommContext::portrays(TaskMeasuring& task, const Decided& call, bool settled) noexcept {
  if (!settled || !task.onStream || call.stage != TaskStage::kServed) return false;
  if (task.settledOn != call.config) {
    task.settledOn = call.config;
    task.portrayed = 0;
  }
  if (task.portrayed >= kPortrait) return false;
  ++task.portrayed;
  return true;
}

void CommContext::setStamps(bool on) noexcept {
  if (stampsOn_.load(std::memory_order_relaxed) == on || stampsOn_.exchange(on) == on) return;
  forEachVariant([on](CommContext& variant) {
    variant.stampsOn_.store(on);
    variant.stamps_.restart();
  });
  if (on) {
    stamps_.restart();
    sampling_.want();
  } else {
    sampling_.unwant();
  }
}

void CommContext::noteChunk(int func, Pair pair, uint32_t chunk) noexcept {
  const uint64_t packed = pair.algo < 0 || chunk == 0 ? 0 : packedChunk(pair, chunk);
  chunks_[static_cast<size_t>(func)].store(packed, std::memory_order_relaxed);
}

// HOT
void CommContext::chunk(int func, Pair pair, size_t* bytes) const noexcept {
  if (bytes == nullptr || func < 0 || func >= kFuncs || pair.algo < 0 || pair.algo >= kAlgos ||
      pair.proto < 0 || pair.proto >= kProtos)
    return;
  const uint64_t packed = chunks_[static_cast<size_t>(func)].load(std::memory_order_relaxed);
  const auto asked = static_cast<uint32_t>(packed >> 8);
  if (asked == 0 || packed != packedChunk(pair, asked)) return;
  *bytes = chunkFor(pair, asked, *bytes);
}

// HOT
void* CommContext::collStarted(const CollEvent& e) noexcept {
  if (e.func < 0 || !stampsOn_.load(std::memory_order_relaxed)) return nullptr;
  return stamps_.collStarted(e.func, tunerBytes(e.func, e.count, e.element, origin_.nRanks),
                             e.channels, e.ran);
}

void CommContext::stopped(void* channel, uint64_t stopTimer) noexcept {
  StampJoin* join = StampJoin::joinOf(channel);
  if (join == nullptr) return;
  if (const auto done = join->channelStopped(channel, stopTimer))
    static_cast<CommContext*>(join->owner())->stamped(*done);
}

void CommContext::stamped(const StampedCall& s) noexcept {
  const auto stop = static_cast<int64_t>(s.stopTimer);
  int64_t offset = clockOffset_.load(std::memory_order_relaxed);
  if (offset == 0) {
    offset = nowNs() - stop;
    clockOffset_.store(offset, std::memory_order_relaxed);
  }
  CallRecord r;
  r.taskKey = s.call.taskKey;
  r.callIndex = s.call.callIndex;
  r.asked = s.call.asked;
  r.untouched = r.asked == kUntouched;
  r.inEffect = r.asked;
  // Channels are an upper bound that NCCL lowers for few bytes; what must match is the pair.
  if (!r.untouched && s.ran != pairOf(r.asked)) r.inEffect = s.ran ? configOf(*s.ran) : kUntouched;
  r.arrivedNs = static_cast<int64_t>(s.startTimer) + offset;
  r.finishedNs = stop + offset;
  r.clock = s.call.onStream ? CallClock::kBesideStream : CallClock::kEngine;
  if (r.untouched && s.ran) book_.noteOwnChoice(r.taskKey, {*s.ran, s.channels});
  const Inside inside(*this);
  if (inside.gate() != nullptr) inside.gate()->report(r);
}

void CommContext::timed(const StreamTime& t) noexcept {
  CallRecord r;
  r.taskKey = t.taskKey;
  r.callIndex = t.callIndex;
  r.asked = r.inEffect = t.asked;
  r.untouched = t.asked == kUntouched;
  r.arrivedNs = t.finishedNs - t.durationNs;
  r.finishedNs = t.finishedNs;
  r.clock = CallClock::kStream;
  const Inside inside(*this);
  if (inside.gate() != nullptr && t.durationNs > 0) inside.gate()->report(r);
}

Space CommContext::spaceOf(const Task& task) const {
  SpaceRules rules = rulesOf(origin_);
  rules.nvlsChannels = book_.mostChannels(kAlgoNvls);
  if ((task.variant & kSwitchable) != 0) rules.variants = offered_.load();
  Space space = nccl::spaceOf(task, rules, book_.costsOf(keyOf(task)));
  const std::lock_guard lock(engineMutex_);
  if (engine_ && (task.variant & kSwitchable) != 0) engine_(space);
  return space;
}

std::string CommContext::ownChoiceText(const Task& task) const {
  const auto own = book_.ownChoiceOf(keyOf(task));
  const std::string engine = engineText_.empty() ? "" : "; " + engineText_;
  if (!own) return engineText_;
  return "NCCL's own choice for " + toText(task) + " is " +
         std::string(toText(algorithmOf(own->pair.algo))) + "/" +
         std::string(toText(protocolOf(own->pair.proto))) + " with " +
         std::to_string(own->channels) + " channels" + engine;
}

}  // namespace autoccl::nccl
