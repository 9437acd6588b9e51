// AllReduce in two shots through staging slots: rank r combines slice r of everybody's data and
// gives it to all. Each rank sends 2(n-1)/n of the buffer.
//   chunk k:      push chunk k of slice p to peer p, for all p
//   chunk k - 1:  combine chunk k - 1 of my slice; store it, and into every peer's second slots
//   chunk k - 2:  place chunk k - 2 of the others' slices
#pragma once

#include "direct/kernels/staged_body.h"

namespace autoccl::direct {

template <class Number>
class TwoShotBody {
 public:
  ACCL_BOTH TwoShotBody(const Lane& lane, const StagedCall& call)
      : lane_(lane), call_(call), e_(call.exchange), m_(e_.members), slots_(lane, call) {}

  ACCL_BOTH void run() const {
    const uint32_t n = slots_.mine(call_.slice);
    slots_.raise(FlagKind::kEntry, e_.receiveFrom, call_.epoch);
    if (!slots_.await(FlagKind::kEntry, e_.sendTo, call_.epoch)) return;
    for (uint32_t k = 0; k < n + 2; ++k) {
      if (k < n && !push(k)) return;
      if (k >= 1 && k - 1 < n && !combine(k - 1, n)) return;
      if (k >= 2 && !place(k - 2, n)) return;
    }
  }

 private:
  using Unit = Words<4>;

  /// Bytes of rank p's slice.
  [[nodiscard]] ACCL_BOTH uint64_t sliceBytes(uint32_t p) const {
    const uint64_t begin = p * call_.slice;
    if (begin >= e_.bytes) return 0;
    return e_.bytes - begin < call_.slice ? e_.bytes - begin : call_.slice;
  }
  [[nodiscard]] ACCL_BOTH Unit own(uint32_t p, uint64_t at) const {
    return ownUnit<Number, 4>(e_, e_.send + p * call_.slice + at, sliceBytes(p) - at, e_.aligned);
  }
  [[nodiscard]] ACCL_BOTH uint32_t peer(uint32_t i) const { return (m_.rank + 1 + i) % m_.nRanks; }
  [[nodiscard]] ACCL_BOTH Span spanOf(uint32_t p, uint64_t begin) const {
    return chunkSpan(lane_, slots_.length(begin, sliceBytes(p)), e_.aligned);
  }
  [[nodiscard]] ACCL_BOTH bool slotsFree(FlagKind drained, uint32_t k) const {
    return k < call_.depth ||
           slots_.await(drained, e_.sendTo, tagOf(call_.epoch, k - call_.depth + 1));
  }
  ACCL_BOTH void release(FlagKind drained, uint32_t k, uint32_t n) const {
    if (k + call_.depth < n) slots_.raise(drained, e_.receiveFrom, tagOf(call_.epoch, k + 1));
  }

  ACCL_BOTH bool push(uint32_t k) const {
    if (!slotsFree(FlagKind::kDrained, k)) return false;
    const uint64_t begin = slots_.begin(k);
    for (uint32_t i = 0; i + 1 < m_.nRanks; ++i) {
      const uint32_t p = peer(i);
      const Span span = spanOf(p, begin);
      char* slot = slots_.slot(call_.slots, p, m_.rank, k);
      Run<Number>::move(
          span, 1, [&](uint32_t, uint64_t at) { return own(p, begin + at); },
          [&](uint32_t, uint64_t at, const Unit& unit) {
            store<Number>(slot + at, unit, span.bytes - at, true);
          });
    }
    lane_.sync();
    slots_.raise(FlagKind::kFilled, e_.sendTo, tagOf(call_.epoch, k + 1));
    return true;
  }
  ACCL_BOTH bool combine(uint32_t k, uint32_t n) const {
    if (!slots_.await(FlagKind::kFilled, e_.receiveFrom, tagOf(call_.epoch, k + 1))) return false;
    if (!slotsFree(FlagKind::kDrained2, k)) return false;
    const uint64_t begin = slots_.begin(k);
    const Span span = spanOf(m_.rank, begin);
    char* mine = e_.recv + m_.rank * call_.slice + begin;
    const auto from = [&](uint32_t s, uint64_t at) {
      return s == m_.rank ? own(s, begin + at) : staged(call_.slots, s, k, span, at);
    };
    const auto to = [&](uint32_t t, uint64_t at, const Unit& unit) {
      if (t + 1 == m_.nRanks) return store<Number>(mine + at, unit, span.bytes - at, e_.aligned);
      char* slot = slots_.slot(call_.secondSlots, peer(t), m_.rank, k);
      store<Number>(slot + at, unit, span.bytes - at, true);
    };
    Run<Number>::combine(span, e_.op, m_.nRanks, m_.nRanks, m_.nRanks, from, to);
    lane_.sync();
    slots_.raise(FlagKind::kFilled2, e_.sendTo, tagOf(call_.epoch, k + 1));
    release(FlagKind::kDrained, k, n);
    return true;
  }
  ACCL_BOTH bool place(uint32_t k, uint32_t n) const {
    if (!slots_.await(FlagKind::kFilled2, e_.receiveFrom, tagOf(call_.epoch, k + 1))) return false;
    const uint64_t begin = slots_.begin(k);
    for (uint32_t i = 0; i + 1 < m_.nRanks; ++i) {
      const uint32_t s = peer(i);
      const Span span = spanOf(s, begin);
      char* to = e_.recv + s * call_.slice + begin;
      Run<Number>::move(
          span, 1, [&](uint32_t, uint64_t at) { return staged(call_.secondSlots, s, k, span, at); },
          [&](uint32_t, uint64_t at, const Unit& unit) {
            store<Number>(to + at, unit, span.bytes - at, e_.aligned);
          });
    }
    lane_.sync();
    release(FlagKind::kDrained2, k, n);
    return true;
  }
  [[nodiscard]] ACCL_BOTH Unit staged(uint64_t region, uint32_t from, uint32_t k, const Span& span,
                                      uint64_t at) const {
    return load<Number, 4>(slots_.slot(region, m_.rank, from, k) + at, span.bytes - at, true);
  }

  const Lane& lane_;
  const StagedCall& call_;
  const Exchange& e_;
  const Members& m_;
  Slots slots_;
};

}  // namespace autoccl::direct
