// Exchange through the peers' staging slots, chunk by chunk (Simple, staged).
//   entry: say to all that this call has begun here
//   chunk k: wait for a free slot; push my chunk into every peer's slot; raise "filled"
//   chunk k - 1: wait for "filled" of all; combine or place; raise "drained"
// Block b of NC handles chunks b, b + NC, ... and meets block b of its peers alone.
#pragma once

#include "direct/kernels/run.h"

namespace autoccl::direct {

/// The flags and slots that both staged bodies share.
class Slots {
 public:
  ACCL_BOTH Slots(const Lane& lane, const StagedCall& call)
      : lane_(lane), call_(call), m_(call.exchange.members) {}

  /// Chunks of this block, of `total`.
  [[nodiscard]] ACCL_BOTH uint32_t mine(uint64_t bytes) const {
    const uint64_t total = (bytes + call_.chunk - 1) / call_.chunk;
    if (lane_.block >= total) return 0;
    return static_cast<uint32_t>((total - lane_.block - 1) / lane_.blocks + 1);
  }
  /// Where this block's k-th chunk begins in a piece.
  [[nodiscard]] ACCL_BOTH uint64_t begin(uint32_t k) const {
    return (uint64_t{lane_.block} + uint64_t{k} * lane_.blocks) * call_.chunk;
  }
  [[nodiscard]] ACCL_BOTH uint64_t length(uint64_t begin, uint64_t bytes) const {
    if (begin >= bytes) return 0;
    return bytes - begin < call_.chunk ? bytes - begin : call_.chunk;
  }
  [[nodiscard]] ACCL_BOTH char* slot(uint64_t region, uint32_t owner, uint32_t from,
                                     uint32_t k) const {
    const uint64_t at =
        (uint64_t{Members::seat(owner, from)} * lane_.blocks + lane_.block) * call_.depth +
        k % call_.depth;
    return m_.arenas[owner] + region + at * call_.chunk;
  }

  /// Raises my flag at each peer in `peers`; after a barrier of the block.
  ACCL_BOTH void raise(FlagKind kind, uint32_t peers, uint64_t value) const {
    for (uint32_t p = lane_.thread; p < m_.nRanks; p += lane_.threads)
      if (p != m_.rank && hasBit(peers, p))
        raiseFlag(m_.flag(p, kind, lane_.block, m_.rank), value);
  }
  /// Waits for the flags of `peers`; ends in a barrier of the block. False: stopped.
  [[nodiscard]] ACCL_BOTH bool await(FlagKind kind, uint32_t peers, uint64_t value) const {
    bool stopped = false;
    for (uint32_t p = lane_.thread; p < m_.nRanks; p += lane_.threads) {
      if (p == m_.rank || !hasBit(peers, p)) continue;
      const uint64_t* flag = m_.flag(m_.rank, kind, lane_.block, p);
      if (!waitUntil(m_.stop, [&] { return readFlag(flag) >= value; })) stopped = true;
    }
    return !lane_.syncAny(stopped);
  }

 private:
  const Lane& lane_;
  const StagedCall& call_;
  const Members& m_;
};

/// A chunk's units, shared among the threads of the block.
ACCL_BOTH Span chunkSpan(const Lane& lane, uint64_t length, bool wide) {
  return {lane.thread * uint64_t{16}, lane.threads * uint64_t{16}, length, wide};
}

template <class Number>
class StagedBody {
 public:
  ACCL_BOTH StagedBody(const Lane& lane, const StagedCall& call)
      : lane_(lane), call_(call), e_(call.exchange), m_(e_.members), slots_(lane, call) {}

  ACCL_BOTH void run() const {
    const uint32_t n = slots_.mine(e_.bytes);
    slots_.raise(FlagKind::kEntry, e_.receiveFrom, call_.epoch);
    if (!slots_.await(FlagKind::kEntry, e_.sendTo, call_.epoch)) return;
    for (uint32_t k = 0; k <= n; ++k) {
      if (k < n && e_.sendTo != 0 && !push(k)) return;
      if (k > 0 && !consume(k - 1, n)) return;
    }
  }

 private:
  using Unit = Words<4>;

  ACCL_BOTH bool push(uint32_t k) const {
    if (k >= call_.depth &&
        !slots_.await(FlagKind::kDrained, e_.sendTo, tagOf(call_.epoch, k - call_.depth + 1)))
      return false;
    const uint64_t begin = slots_.begin(k);
    const Span span = chunkSpan(lane_, slots_.length(begin, e_.bytes), e_.aligned);
    if (e_.sendStride == 0) {
      Run<Number>::move(
          span, m_.nRanks - 1, [&](uint32_t, uint64_t at) { return own(0, begin + at); },
          [&](uint32_t i, uint64_t at, const Unit& unit) { toSlot(span, i, k, at, unit); });
    } else {
      for (uint32_t i = 0; i + 1 < m_.nRanks; ++i)
        Run<Number>::move(
            span, 1, [&](uint32_t, uint64_t at) { return own(peer(i), begin + at); },
            [&](uint32_t, uint64_t at, const Unit& unit) { toSlot(span, i, k, at, unit); });
    }
    lane_.sync();
    slots_.raise(FlagKind::kFilled, e_.sendTo, tagOf(call_.epoch, k + 1));
    return true;
  }
  /// The i-th peer after this rank: each rank begins with another one.
  [[nodiscard]] ACCL_BOTH uint32_t peer(uint32_t i) const { return (m_.rank + 1 + i) % m_.nRanks; }
  [[nodiscard]] ACCL_BOTH Unit own(uint32_t piece, uint64_t at) const {
    return ownUnit<Number, 4>(e_, e_.send + piece * e_.sendStride + at, e_.bytes - at, e_.aligned);
  }
  ACCL_BOTH void toSlot(const Span& span, uint32_t i, uint32_t k, uint64_t at,
                        const Unit& unit) const {
    char* slot = slots_.slot(call_.slots, peer(i), m_.rank, k);
    store<Number>(slot + at, unit, span.bytes - at, true);
  }

  ACCL_BOTH bool consume(uint32_t k, uint32_t n) const {
    if (!slots_.await(FlagKind::kFilled, e_.receiveFrom, tagOf(call_.epoch, k + 1))) return false;
    const uint64_t begin = slots_.begin(k);
    const Span span = chunkSpan(lane_, slots_.length(begin, e_.bytes), e_.aligned);
    const auto from = [&](uint32_t s, uint64_t at) {
      return s == m_.rank ? own(s, begin + at)
                          : load<Number, 4>(slots_.slot(call_.slots, m_.rank, s, k) + at,
                                            span.bytes - at, true);
    };
    if constexpr (kMovedOnly<Number>)
      place(span, begin, from);
    else
      Run<Number>::combine(
          span, e_.op, m_.nRanks, m_.nRanks, 1, from,
          [&](uint32_t, uint64_t at, const Unit& unit) { toUser(0, begin, at, unit); });
    if (k + call_.depth >= n) return true;  // nobody waits for these slots
    lane_.sync();
    slots_.raise(FlagKind::kDrained, e_.receiveFrom, tagOf(call_.epoch, k + 1));
    return true;
  }
  template <class From>
  ACCL_BOTH void place(const Span& span, uint64_t begin, const From& from) const {
    for (uint32_t s = 0; s < m_.nRanks; ++s) {
      if (s == m_.rank ? !e_.ownPiece : !hasBit(e_.receiveFrom, s)) continue;
      Run<Number>::move(
          span, 1, [&](uint32_t, uint64_t at) { return from(s, at); },
          [&](uint32_t, uint64_t at, const Unit& unit) { toUser(s, begin, at, unit); });
    }
  }
  ACCL_BOTH void toUser(uint32_t s, uint64_t begin, uint64_t at, const Unit& unit) const {
    store<Number>(e_.recv + s * e_.recvStride + begin + at, unit, e_.bytes - begin - at,
                  e_.aligned);
  }

  const Lane& lane_;
  const StagedCall& call_;
  const Exchange& e_;
  const Members& m_;
  Slots slots_;
};

}  // namespace autoccl::direct
