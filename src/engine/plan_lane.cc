#include "engine/plan_lane.h"

#include <algorithm>

#include "base/error.h"
#include "engine/kernels.h"

namespace autoccl {
namespace {

using Read = Action::Read;
using Store = Action::Store;

constexpr int kMost = 4;  // sources or destinations of a pass: own or stored, and three messages

}  // namespace

PlanLane::PlanLane(const PlanContext& context, int channel, int thread)
    : context_(context),
      channel_(channel),
      thread_(thread),
      bell_(channel * context.cut.threads + thread) {
  ACCL_CHECK(context.program->strands.size() <= kMaxStrands);
  for (const Strand& strand : context.program->strands) {
    State& s = states_[static_cast<size_t>(nStrands_++)];
    s.strand = &strand;
    s.lane = bell_ * context.cut.rails + strand.rail;
  }
}

bool PlanLane::run() {
  for (;;) {
    bool open = false, moved = false;
    for (int i = 0; i < nStrands_; ++i) {
      State& s = states_[static_cast<size_t>(i)];
      moved |= !done(s) && advance(s);
      open |= !done(s);
    }
    if (failed_) return false;
    if (!open) return awaitReaders();
    if (moved) continue;
    if (!context_.bells->waitUntil(context_.rank, bell_, context_.rules,
                                   [this] { return anyReady(); }))
      return false;
  }
}

// Takes the strand's next action if its messages are there and its queues have room.
bool PlanLane::advance(State& s) {
  if (!ready(s)) return false;
  if (s.bytes > 0) perform(s);
  s.measured = false;
  if (++s.action == s.strand->actions.size()) {
    s.action = 0;
    ++s.round;
  }
  return true;
}

bool PlanLane::ready(State& s) {
  const Action& a = now(s);
  if (!s.measured) {
    s.bytes = 0;
    for (int i = 0; i < a.blocks.count; ++i) s.bytes += sliceOf(s, a.blocks.first + i).bytes;
    s.measured = true;
  }
  if (s.bytes == 0) return true;  // no message: both ends know
  for (size_t i = 0; i < a.nFrom; ++i)
    if (!context_.wire->canReceive(a.from[i], s.lane, s.bytes)) return false;
  for (size_t i = 0; i < a.nTo; ++i)
    if (!context_.wire->canSend(a.to[i], s.lane)) return false;
  return true;
}

bool PlanLane::anyReady() {
  for (int i = 0; i < nStrands_; ++i) {
    State& s = states_[static_cast<size_t>(i)];
    if (!done(s) && ready(s)) return true;
  }
  return false;
}

// What was sent without a copy must stay until its readers are through.
bool PlanLane::awaitReaders() {
  if (!context_.wire->publishes()) return true;
  const auto allIdle = [this] {
    for (int peer = 0; peer < context_.call.shape.nRanks; ++peer)
      for (int rail = 0; rail < context_.cut.rails && peer != context_.rank; ++rail)
        if (!context_.wire->idle(peer, bell_ * context_.cut.rails + rail)) return false;
    return true;
  };
  return context_.bells->waitUntil(context_.rank, bell_, context_.rules, allIdle);
}

PlanLane::Slice PlanLane::sliceOf(const State& s, int block) const {
  const auto b = static_cast<size_t>(block);
  const uint64_t whole = now(s).nFrom > 0 ? context_.out[b].bytes : context_.source[b].bytes;
  const PlanCut& cut = context_.cut;
  const ByteRange mine = part(whole, channel_, cut.channels, context_.call.shape.elementBytes);
  const uint64_t from = s.round * cut.roundBytes + static_cast<uint64_t>(thread_) * cut.sliceBytes;
  if (from >= mine.bytes) return {block, 0, 0};
  return {block, mine.offset + from, std::min(cut.sliceBytes, mine.bytes - from)};
}

PlanLane::Slice PlanLane::firstSlice(const State& s) const {
  const BlockRange blocks = now(s).blocks;
  for (int i = 0; i < blocks.count; ++i)
    if (const Slice slice = sliceOf(s, blocks.first + i); slice.bytes > 0) return slice;
  return {};
}

bool PlanLane::scales(const Action& a) const {
  return context_.call.op == ReduceOp::kScaledSum && reduces(context_.call.shape.collective) &&
         a.read == Read::kSource;
}

PlanLane::Sends PlanLane::howToSend(const Action& a) const {
  if (a.nTo == 0 || !context_.wire->publishes()) return Sends::kSlots;
  const Collective c = context_.call.shape.collective;
  const bool ownIsVisible = a.read != Read::kAccum || c == Collective::kAllReduce;
  if (a.nFrom == 0) return ownIsVisible && !scales(a) ? Sends::kOwnPlace : Sends::kSlots;
  for (int i = 0; i < a.blocks.count; ++i)
    if (!isOutput(c, context_.seat(), a.blocks.first + i)) return Sends::kSlots;
  return a.store == Store::kOut ? Sends::kStoredPlace : Sends::kSlots;
}

void PlanLane::publish(const State& s, bool sendSide) const {
  const Slice first = firstSlice(s);
  const auto& side = sendSide ? context_.source : context_.out;
  const uint64_t offset = side[static_cast<size_t>(first.block)].offset + first.at;
  const Action& a = now(s);
  for (size_t i = 0; i < a.nTo; ++i) context_.wire->publish(a.to[i], s.lane, sendSide, offset);
}

void PlanLane::perform(const State& s) {
  const Action& a = now(s);
  const Sends sends = howToSend(a);
  if (sends == Sends::kOwnPlace) publish(s, a.read == Read::kSource);
  std::array<Incoming, 3> incoming;
  for (size_t i = 0; i < a.nFrom; ++i) {
    incoming[i] = context_.wire->peek(a.from[i], s.lane, s.bytes);
    if (incoming[i].where == Incoming::Where::kRemote && !pull(s, incoming[i], static_cast<int>(i)))
      failed_ = true;
  }
  if (failed_) return;
  uint64_t packedAt = 0;
  for (int i = 0; i < a.blocks.count; ++i) {
    const Slice slice = sliceOf(s, a.blocks.first + i);
    if (slice.bytes > 0) pass(s, slice, packedAt, incoming, sends);
    packedAt += slice.bytes;
  }
  if (sends == Sends::kStoredPlace) publish(s, false);
  for (size_t i = 0; i < a.nTo && sends == Sends::kSlots; ++i)
    context_.wire->post(a.to[i], s.lane, s.bytes);
  for (size_t i = 0; i < a.nFrom; ++i) context_.wire->release(a.from[i], s.lane);
}

// One pass over one slice: all sources into all destinations.
void PlanLane::pass(const State& s, const Slice& slice, uint64_t packedAt,
                    const std::array<Incoming, 3>& incoming, Sends sends) {
  const Action& a = now(s);
  const void* src[kMost];
  void* dst[kMost];
  int nSrc = 0, nDst = 0;
  if (a.read != Read::kNone) src[nSrc++] = own(s, slice);
  for (size_t i = 0; i < a.nFrom; ++i) src[nSrc++] = received(s, slice, packedAt, incoming[i]);
  if (a.store != Store::kNone) dst[nDst++] = stored(s, slice);
  for (size_t i = 0; i < a.nTo && sends == Sends::kSlots; ++i)
    dst[nDst++] = context_.wire->slot(a.to[i], s.lane) + packedAt;
  combine(a, src, nSrc, dst, nDst, slice.bytes);
}

void PlanLane::combine(const Action& a, const void* const* src, int nSrc, void* const* dst,
                       int nDst, uint64_t bytes) const {
  if (nDst == 0) return;
  if (nSrc == 1 && !scales(a)) {
    const int already = dst[0] == src[0] ? 1 : 0;  // in place
    if (nDst > already) copyBytes(dst + already, nDst - already, src[0], bytes, false);
    return;
  }
  const PlanCall& call = context_.call;
  const double scale[kMost] = {scales(a) ? call.scale : 1, 1, 1, 1};
  Reduction r;
  r.src = src;
  r.nSrc = nSrc;
  r.dst = dst;
  r.nDst = nDst;
  r.count = bytes / call.shape.elementBytes;
  r.dtype = call.dtype;
  r.op = call.op;
  r.scale = call.op == ReduceOp::kScaledSum ? scale : nullptr;
  r.divisor = a.last && call.op == ReduceOp::kAvg ? call.shape.nRanks : 0;
  reduce(r);
}

// Fetches a message that lies in another process: straight to its place in the receive buffer if it
// is only copied there, else packed into this lane's own memory.
bool PlanLane::pull(const State& s, Incoming& incoming, int which) {
  const Action& a = now(s);
  const bool toOutput = a.read == Read::kNone && a.store == Store::kOut;
  const size_t message = static_cast<size_t>(s.lane) * 3 + static_cast<size_t>(which);
  std::byte* packed = context_.pulled + message * context_.cut.layout.slotBytes;
  uint64_t packedAt = 0;
  for (int i = 0; i < a.blocks.count; ++i) {
    const Slice slice = sliceOf(s, a.blocks.first + i);
    if (slice.bytes == 0) continue;
    std::byte* to = toOutput ? stored(s, slice) : packed + packedAt;
    if (!readRemote(incoming.pid, received(s, slice, 0, incoming), to, slice.bytes)) return false;
    packedAt += slice.bytes;
  }
  if (toOutput) {  // from now on it is read from there, which is no copy for the store itself
    incoming.where = Incoming::Where::kMapped;
    incoming.sendSide = false;
    incoming.first = stored(s, firstSlice(s));
  } else {
    incoming.where = Incoming::Where::kPacked;
    incoming.first = packed;
  }
  return true;
}

const std::byte* PlanLane::received(const State& s, const Slice& slice, uint64_t packedAt,
                                    const Incoming& incoming) const {
  if (incoming.where == Incoming::Where::kPacked) return incoming.first + packedAt;
  const auto& side = incoming.sendSide ? context_.source : context_.out;
  const Slice first = firstSlice(s);
  const uint64_t from = side[static_cast<size_t>(first.block)].offset + first.at;
  return incoming.first + (side[static_cast<size_t>(slice.block)].offset + slice.at - from);
}

const std::byte* PlanLane::own(const State& s, const Slice& slice) const {
  const auto b = static_cast<size_t>(slice.block);
  switch (now(s).read) {
    case Read::kSource:
      return context_.call.send + context_.source[b].offset + slice.at;
    case Read::kOut:
      return context_.call.recv + context_.out[b].offset + slice.at;
    default:
      return accumulator(s, slice);
  }
}

std::byte* PlanLane::stored(const State& s, const Slice& slice) const {
  const Collective c = context_.call.shape.collective;
  if (now(s).store == Store::kAccum || !isOutput(c, context_.seat(), slice.block))
    return accumulator(s, slice);
  return context_.call.recv + context_.out[static_cast<size_t>(slice.block)].offset + slice.at;
}

std::byte* PlanLane::accumulator(const State& s, const Slice& slice) const {
  const auto b = static_cast<size_t>(slice.block);
  if (context_.call.shape.collective == Collective::kAllReduce)
    return context_.call.recv + context_.out[b].offset + slice.at;
  const auto perLane = static_cast<size_t>(context_.program->nBlocks) * context_.cut.sliceBytes;
  return context_.accumulators + static_cast<size_t>(s.lane) * perLane +
         b * context_.cut.sliceBytes;
}

}  // namespace autoccl
