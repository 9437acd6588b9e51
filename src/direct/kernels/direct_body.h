// One pass over memory that this GPU can reach, its own or a peer's (Zero), between two barriers;
// and, without them, the local reduction behind copy engines.
#pragma once

#include "direct/kernels/run.h"

namespace autoccl::direct {

template <class Number>
class DirectBody {
 public:
  ACCL_BOTH DirectBody(const Lane& lane, const DirectCall& call) : lane_(lane), c_(call) {}

  ACCL_BOTH void run() const {
    if (c_.barriers && !meet(FlagKind::kEntry)) return;
    pass();
    if (!c_.barriers) return;
    lane_.sync();
    (void)meet(FlagKind::kExit);
  }

 private:
  using Unit = Words<4>;

  ACCL_BOTH void pass() const {
    const uint64_t first = (uint64_t{lane_.block} * lane_.threads + lane_.thread) * 16;
    const Span span{first, uint64_t{lane_.blocks} * lane_.threads * 16, c_.bytes, c_.aligned};
    const auto from = [&](uint32_t source, uint64_t at) {
      return load<Number, 4>(c_.sources[source] + at, c_.bytes - at, c_.aligned);
    };
    const auto to = [&](uint32_t target, uint64_t at, const Unit& unit) {
      store<Number>(c_.targets[target] + at, unit, c_.bytes - at, c_.aligned);
    };
    if constexpr (!kMovedOnly<Number>) {
      Run<Number>::combine(span, c_.op, c_.nCombined, c_.nSources, c_.nTargets, from, to);
    } else if (!c_.paired) {
      Run<Number>::move(span, c_.nTargets, from, to);
    } else {
      for (uint32_t i = 0; i < c_.nTargets; ++i)
        Run<Number>::move(
            span, 1, [&](uint32_t, uint64_t at) { return from(i, at); },
            [&](uint32_t, uint64_t at, const Unit& unit) { to(i, at, unit); });
    }
  }

  /// A barrier of block b of all ranks. False: stopped.
  [[nodiscard]] ACCL_BOTH bool meet(FlagKind kind) const {
    const Members& m = c_.members;
    bool stopped = false;
    for (uint32_t p = lane_.thread; p < m.nRanks; p += lane_.threads)
      if (p != m.rank) raiseFlag(m.flag(p, kind, lane_.block, m.rank), c_.epoch);
    for (uint32_t p = lane_.thread; p < m.nRanks; p += lane_.threads) {
      if (p == m.rank) continue;
      const uint64_t* flag = m.flag(m.rank, kind, lane_.block, p);
      if (!waitUntil(m.stop, [&] { return readFlag(flag) >= c_.epoch; })) stopped = true;
    }
    return !lane_.syncAny(stopped);
  }

  const Lane& lane_;
  const DirectCall& c_;
};

}  // namespace autoccl::direct
