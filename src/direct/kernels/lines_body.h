// One-shot exchange by lines that carry their own flag (LL, LL128): no barrier, one trip.
//   all units u of a piece:  write line u into every peer's region
//   all units u:             poll line u of every peer; combine or place
// 2 or 1.33 times the bytes on the wire; the least time for small calls.
#pragma once

#include "direct/kernels/pieces.h"

namespace autoccl::direct {

template <class Number, class Line>
class LinesBody {
 public:
  static constexpr int kWords = Line::kWords;
  static constexpr uint32_t kUnit = kWords * 4;

  ACCL_BOTH LinesBody(const Lane& lane, const LinesCall& call)
      : lane_(lane), call_(call), e_(call.exchange), nUnits_((e_.bytes + kUnit - 1) / kUnit) {}

  ACCL_BOTH void run() {
    const uint64_t first = uint64_t{lane_.block} * lane_.threads + lane_.thread;
    const uint64_t step = uint64_t{lane_.blocks} * lane_.threads;
    if (e_.sendTo != 0)
      for (uint64_t u = first; u < nUnits_; u += step) send(u);
    if (first == 0) sendAnswers();
    for (uint64_t u = first; u < nUnits_; u += step)
      if (!receive(u)) return;
    if (first == 0) awaitAnswers();
  }

 private:
  using Unit = Words<kWords>;

  [[nodiscard]] ACCL_BOTH char* line(uint32_t owner, uint32_t from, uint64_t unit) const {
    return e_.members.arenas[owner] + call_.half + Members::seat(owner, from) * call_.reach +
           unit * Line::kBytes;
  }
  [[nodiscard]] ACCL_BOTH Unit own(uint32_t piece, uint64_t unit) const {
    return ownUnit<Number, kWords>(e_, e_.send + piece * e_.sendStride + unit * kUnit,
                                   e_.bytes - unit * kUnit, e_.aligned);
  }
  ACCL_BOTH void send(uint64_t unit) const {
    const Members& m = e_.members;
    Unit data;
    if (e_.sendStride == 0) data = own(0, unit);
    for (uint32_t i = 1; i < m.nRanks; ++i) {
      const uint32_t p = (m.rank + i) % m.nRanks;
      if (!hasBit(e_.sendTo, p)) continue;
      if (e_.sendStride != 0) data = own(p, unit);
      Line::write(line(p, m.rank, unit), data.w, call_.flag);
    }
  }
  ACCL_BOTH bool await(uint32_t from, uint64_t unit, Unit& data) const {
    const char* at = line(e_.members.rank, from, unit);
    return waitUntil(e_.members.stop, [&] { return Line::read(at, data.w, call_.flag); });
  }
  ACCL_BOTH bool receive(uint64_t unit) const {
    if constexpr (kMovedOnly<Number>)
      return place(unit);
    else
      return reduce(unit);
  }
  ACCL_BOTH bool reduce(uint64_t unit) const {
    const Members& m = e_.members;
    Combining<Number, kWords> sum;
    for (uint32_t s = 0; s < m.nRanks; ++s) {
      Unit data;
      if (s == m.rank)
        data = own(m.rank, unit);
      else if (!await(s, unit, data))
        return false;
      if (s == 0)
        sum.start(data);
      else
        sum.add(e_.op, data);
    }
    store<Number>(e_.recv + unit * kUnit, sum.result(e_.op, m.nRanks), e_.bytes - unit * kUnit,
                  e_.aligned);
    return true;
  }
  ACCL_BOTH bool place(uint64_t unit) const {
    const Members& m = e_.members;
    for (uint32_t s = 0; s < m.nRanks; ++s) {
      Unit data;
      if (s == m.rank) {
        if (!e_.ownPiece) continue;
        data = own(m.rank, unit);
      } else if (!hasBit(e_.receiveFrom, s)) {
        continue;
      } else if (!await(s, unit, data)) {
        return false;
      }
      store<Number>(e_.recv + s * e_.recvStride + unit * kUnit, data, e_.bytes - unit * kUnit,
                    e_.aligned);
    }
    return true;
  }

  /// A peer that gets no piece gets an empty line, so that in every call each rank hears of each:
  /// that is how they know, one call later, that this half of the region is free again.
  ACCL_BOTH void sendAnswers() const {
    const Members& m = e_.members;
    const uint32_t nothing[kWords] = {};
    for (uint32_t p = 0; p < m.nRanks; ++p)
      if (p != m.rank && !hasBit(e_.sendTo, p))
        Line::write(line(p, m.rank, 0), nothing, call_.flag);
  }
  ACCL_BOTH void awaitAnswers() const {
    const Members& m = e_.members;
    for (uint32_t p = 0; p < m.nRanks; ++p) {
      Unit nothing;
      const bool answers = p != m.rank && !hasBit(e_.receiveFrom, p);
      if (answers && !await(p, 0, nothing)) return;
    }
  }

  const Lane& lane_;
  const LinesCall& call_;
  const Exchange& e_;
  uint64_t nUnits_;
};

}  // namespace autoccl::direct
