// Recursive halving (reduce-scatter) and doubling (all-gather), Rabenseifner's AllReduce.
// Rabenseifner, ICCS 2004, LNCS 3036, 1-9; Thakur, Rabenseifner & Gropp, IJHPCA 19 (2005) 49-66.
// n ranks, p = 2^floor(lg n), e = n-p. If e > 0, ranks 2v and 2v+1 for v < e act as one: 2v speaks
// as v, 2v+1 is silent; rank r >= 2e speaks as r-e. Speaker v of p owns blocks [start(v),
// start(v+1)): AllReduce has p blocks, one each; the others n, those of its ranks. [v]_d = the d
// speakers that share v's bits above d.
//
//   fold      2v+1 sends all blocks to 2v, reduce                (AllGather: its own block, copy)
//   halving   for d = p/2, p/4 .. 1: exchange with w = v xor d: send [w]_d, receive [v]_d, reduce
//   doubling  for d = 1, 2 .. p/2:   exchange with w = v xor d: send [v]_d, receive [w]_d, copy
//   unfold    2v sends all blocks to 2v+1, copy                   (ReduceScatter: its own block)
//
// Steps lg n a direction, bytes (p-1)/p of nBytes a direction; if e > 0, a step and up to nBytes
// more for fold and for unfold.
#include "plan/halving_doubling.h"

#include <algorithm>
#include <bit>

namespace autoccl {
namespace {

class Speakers {
 public:
  Speakers(Seat t, bool blockEachRank)
      : t_(t),
        p_(static_cast<int>(std::bit_floor(static_cast<unsigned>(t.n)))),
        e_(t.n - p_),
        blockEachRank_(blockEachRank) {}

  [[nodiscard]] int nBlocks() const { return blockEachRank_ ? t_.n : p_; }
  [[nodiscard]] bool paired() const { return t_.me < 2 * e_; }
  [[nodiscard]] bool silent() const { return paired() && t_.me % 2 == 1; }
  [[nodiscard]] int partner() const { return t_.me ^ 1; }
  [[nodiscard]] BlockRange everything() const { return {0, nBlocks()}; }

  void halving(Flow& flow) const {
    for (int d = p_ / 2; d >= 1; d /= 2) {
      const RecvOp op = d == 1 ? RecvOp::kReduceLast : RecvOp::kReduce;
      const int w = speaker() ^ d;
      flow.steps.push_back({rankOf(w), around(w, d), rankOf(w), around(speaker(), d), op});
    }
  }
  void doubling(Flow& flow) const {
    for (int d = 1; d < p_; d *= 2) {
      const int w = speaker() ^ d;
      flow.steps.push_back(
          {rankOf(w), around(speaker(), d), rankOf(w), around(w, d), RecvOp::kCopy});
    }
  }

 private:
  [[nodiscard]] int speaker() const { return paired() ? t_.me / 2 : t_.me - e_; }
  [[nodiscard]] int rankOf(int v) const { return v < e_ ? 2 * v : v + e_; }
  [[nodiscard]] int start(int v) const { return blockEachRank_ ? v + std::min(v, e_) : v; }
  [[nodiscard]] BlockRange around(int v, int d) const {
    const int low = v & ~(d - 1);
    return {start(low), start(low + d) - start(low)};
  }

  Seat t_;
  int p_, e_;
  bool blockEachRank_;
};

// A silent rank: what it hands in and what it gets back are independent flows.
Plan silentPlan(const Speakers& s, BlockRange in, BlockRange out) {
  Flow handIn, getBack;
  handIn.steps.push_back({s.partner(), in, 0, {}, RecvOp::kNone});
  getBack.steps.push_back({0, {}, s.partner(), out, RecvOp::kCopy});
  return {s.nBlocks(), 1, {handIn, getBack}};
}

Step receive(int from, BlockRange blocks, RecvOp op) {
  return {0, {}, from, blocks, op};
}
Step send(int to, BlockRange blocks) {
  return {to, blocks, 0, {}, RecvOp::kNone};
}

}  // namespace

Plan halvingDoublingAllReduce(Seat t) {
  const Speakers s(t, false);
  if (s.silent()) return silentPlan(s, s.everything(), s.everything());
  Flow flow;
  if (t.n == 1) flow.steps.push_back(keep(0, {0, 1}));
  if (s.paired()) flow.steps.push_back(receive(s.partner(), s.everything(), RecvOp::kReduce));
  s.halving(flow);
  s.doubling(flow);
  if (s.paired()) flow.steps.push_back(send(s.partner(), s.everything()));
  return {s.nBlocks(), 1, {flow}};
}

Plan halvingReduceScatter(Seat t) {
  const Speakers s(t, true);
  if (s.silent()) return silentPlan(s, s.everything(), {t.me, 1});
  Flow flow;
  if (t.n == 1) flow.steps.push_back(keep(0, {0, 1}));
  if (s.paired()) flow.steps.push_back(receive(s.partner(), s.everything(), RecvOp::kReduce));
  s.halving(flow);
  if (s.paired()) flow.steps.push_back(send(s.partner(), {s.partner(), 1}));
  return {s.nBlocks(), 1, {flow}};
}

Plan doublingAllGather(Seat t) {
  const Speakers s(t, true);
  if (s.silent()) return silentPlan(s, {t.me, 1}, s.everything());
  Flow flow;
  flow.steps.push_back(keep(t.me, {t.me, 1}));
  if (s.paired()) flow.steps.push_back(receive(s.partner(), {s.partner(), 1}, RecvOp::kCopy));
  s.doubling(flow);
  if (s.paired()) flow.steps.push_back(send(s.partner(), s.everything()));
  return {s.nBlocks(), 1, {flow}};
}

}  // namespace autoccl
