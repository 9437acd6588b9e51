// A communicator and its variants: one sequence of calls, one session, several NCCL communicators.
#include "edge/nccl/inside.h"
#include "edge/nccl/plugin_side.h"
#include "edge/nccl/space.h"

namespace autoccl::nccl {

void CommContext::remember(const Task& task, const CallGate::Ticket& ticket,
                           const Config& config) noexcept {
  CallNote& note = callNote;
  ++note.decisions;
  note.taskKey = keyOf(task);
  note.callIndex = ticket.index;
  note.asked = config;
  if (note.switchable) note.task = task;
}

void CommContext::attach(Variant variant, CommContext& itsContext) noexcept {
  itsContext.base_.store(this);
  variants_[static_cast<size_t>(variant)].store(&itsContext);
  itsContext.stampsOn_.store(stampsOn_.load());
  itsContext.setGate(gate_.load());
}

void CommContext::offerEngine(std::function<void(Space&)> extend) {
  const std::lock_guard lock(engineMutex_);
  engine_ = std::move(extend);
  hasEngine_.store(engine_ != nullptr);
}

// HOT
bool CommContext::decideAhead(const Task& task) noexcept {
  CallNote& note = callNote;
  if (!opened_) [[unlikely]]
    open(note);
  const Inside inside(*this);
  CallGate* gate = inside.gate();
  if (gate == nullptr || ended_.load(std::memory_order_relaxed)) return true;
  const uint64_t key = keyOf(task);
  TaskMeasuring* const measuring = book_.meet(key, nullptr);
  const CallGate::Ticket ticket = gate->take(task, kUntouched);
  gate->issued(key);
  Config config = kUntouched;
  TaskStage stage{};
  if (!gate->resolve(ticket, config, stage)) [[unlikely]]
    return broken().kind != Answer::Kind::kFail;
  watch(measuring, {ticket.index, config, stage});
  remember(task, ticket, config);
  note.decided = true;
  if (origin_.variantsOnly) {
    if (config.extra != 0)
      countTuned();
    else
      countUntouched("NCCL's own choice is in force");
  }
  return true;
}

// HOT. NCCL may ask more than once for one call; the answer stays the same.
Answer CommContext::answerDecided(const Question& q, const CallNote& note) noexcept {
  if (!note.decided) return {};
  if (stampsOn_.load(std::memory_order_relaxed))
    stamps_.decided(
        {note.taskKey, note.callIndex, note.asked, q.func, q.nBytes, note.timed && note.measure});
  const auto pair = pairOf(note.asked);
  if (!pair || !holds(q.possible, *pair)) {
    countUntouched("NCCL's own choice is in force");
    return {};
  }
  countTuned();
  noteChunk(q.func, *pair, note.asked.chunk);
  return {Answer::Kind::kForce, *pair, note.asked.channels};
}

Task CommContext::taskWithoutTuner(Collective collective, uint64_t nBytes) noexcept {
  const int func = collective == Collective::kAllReduce ? kFuncAllReduce : kFuncBroadcast;
  return book_.taskOf(collective, nBytes, pairsWithoutTable(func) | kSwitchable);
}

}  // namespace autoccl::nccl
