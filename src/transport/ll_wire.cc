#include "transport/ll_wire.h"

#include <algorithm>
#include <cstring>

namespace autoccl {
namespace {

constexpr auto kSeqCst = std::memory_order_seq_cst;
constexpr uint64_t kNumbers = 0xffffffff;  // flags 1 … kNumbers

uint32_t flagOf(uint64_t sequence) noexcept {
  return static_cast<uint32_t>(sequence % kNumbers) + 1;
}
size_t linesFor(size_t bytes) noexcept {
  return (bytes + LlWire::kLineData - 1) / LlWire::kLineData;
}
size_t lanesOfAll(const WireGeometry& g) noexcept {
  return g.laneOf(g.pairs(), 0);
}

}  // namespace

size_t LlWire::requiredBytes(const WireGeometry& g) noexcept {
  return lanesOfAll(g) * (sizeof(Counter) + g.llLaneBytes);
}

LlWire::LlWire(std::byte* shared, const WireGeometry& g, int rank, Doorbells bells,
               uint64_t firstMessage)
    : g_(g),
      rank_(rank),
      released_(reinterpret_cast<Counter*>(shared)),
      areas_(shared + lanesOfAll(g) * sizeof(Counter)),
      bells_(bells),
      privateBytes_(g.llLaneBytes / kSlots / sizeof(Line) * sizeof(Line)),
      ends_(g.laneOf(static_cast<size_t>(g.nRanks), 0)),
      outgoing_(std::make_unique_for_overwrite<std::byte[]>(ends_.size() * privateBytes_)),
      incoming_(std::make_unique_for_overwrite<std::byte[]>(ends_.size() * privateBytes_)) {
  for (End& e : ends_) {
    e.sent = e.received = firstMessage;
    e.seenReleased = static_cast<uint32_t>(firstMessage);
  }
  for (int to = 0; to < g.nRanks && firstMessage != 0; ++to)
    for (int lane = 0; lane < g.lanes; ++lane)
      released_[index(rank, to, lane)].value.store(static_cast<uint32_t>(firstMessage), kSeqCst);
}

LlWire::Line* LlWire::lines(int from, int to, int lane, uint64_t sequence) const noexcept {
  std::byte* area = areas_ + index(from, to, lane) * g_.llLaneBytes;
  return reinterpret_cast<Line*>(area) + sequence % kSlots * slotLines_;
}

bool LlWire::fits(const WireGeometry& g, const WireLayout& l) noexcept {
  return l.lanes <= g.lanes && linesFor(l.slotBytes) * sizeof(Line) * kSlots <= g.llLaneBytes;
}

bool LlWire::open(const WireLayout& next, const WaitRules& rules) noexcept {
  if (next.slotBytes != layout_.slotBytes) {
    uint32_t turns = 0;
    for (int to = 0; to < g_.nRanks; ++to)
      for (int lane = 0; lane < layout_.lanes; ++lane)
        while (to != rank_ && !idle(to, lane))
          if (!waitOnce(turns, rules)) return false;
  }
  layout_ = next;
  slotLines_ = linesFor(next.slotBytes);
  return true;
}

bool LlWire::canSend(int to, int lane) noexcept {
  End& e = end(to, lane);
  const bool startsAgain = e.sent % kNumbers == 0;
  if (startsAgain && !idle(to, lane)) return false;
  const auto open = [&] { return static_cast<uint32_t>(e.sent) - e.seenReleased < kSlots; };
  if (open()) return true;
  e.seenReleased = released_[index(rank_, to, lane)].value.load(kSeqCst);
  return open();
}

void LlWire::zeroFlags(int from, int lane) noexcept {
  auto* line = reinterpret_cast<Line*>(areas_ + index(from, rank_, lane) * g_.llLaneBytes);
  for (size_t i = 0; i < g_.llLaneBytes / sizeof(Line); ++i) line[i].flag.store(0, kSeqCst);
}

std::byte* LlWire::slot(int to, int lane) noexcept {
  return outgoing_.get() + g_.laneOf(static_cast<size_t>(to), lane) * privateBytes_;
}

void LlWire::post(int to, int lane, size_t bytes) noexcept {
  End& e = end(to, lane);
  const std::byte* from = slot(to, lane);
  Line* line = lines(rank_, to, lane, e.sent);
  const uint32_t flag = flagOf(e.sent);
  for (size_t at = 0; at < bytes; at += kLineData, ++line) {
    const size_t n = std::min(kLineData, bytes - at);
    std::memcpy(line->data, from + at, n);
    line->flag.store(flag, at + n < bytes ? std::memory_order_release : kSeqCst);
  }
  ++e.sent;
  bells_.ring(to, lane / layout_.lanesPerBell);
}

bool LlWire::idle(int to, int lane) noexcept {
  End& e = end(to, lane);
  e.seenReleased = released_[index(rank_, to, lane)].value.load(kSeqCst);
  return static_cast<uint32_t>(e.sent) == e.seenReleased;
}

bool LlWire::canReceive(int from, int lane, size_t bytes) noexcept {
  const uint64_t sequence = end(from, lane).received;
  const Line* first = lines(from, rank_, lane, sequence);
  return first[linesFor(bytes) - 1].flag.load(kSeqCst) == flagOf(sequence);
}

Incoming LlWire::peek(int from, int lane, size_t bytes) noexcept {
  const uint64_t sequence = end(from, lane).received;
  const Line* line = lines(from, rank_, lane, sequence);
  std::byte* to = incoming_.get() + g_.laneOf(static_cast<size_t>(from), lane) * privateBytes_;
  for (size_t at = 0; at < bytes; at += kLineData, ++line) {
    // Written before the last line, which has been seen: this is about visibility, not waiting.
    while (line->flag.load(std::memory_order_acquire) != flagOf(sequence)) {
    }
    std::memcpy(to + at, line->data, std::min(kLineData, bytes - at));
  }
  Incoming in;
  in.first = to;
  return in;
}

void LlWire::release(int from, int lane) noexcept {
  End& e = end(from, lane);
  if (++e.received % kNumbers == 0) zeroFlags(from, lane);
  released_[index(from, rank_, lane)].value.store(static_cast<uint32_t>(e.received), kSeqCst);
  bells_.ring(from, lane / layout_.lanesPerBell);
}

}  // namespace autoccl
