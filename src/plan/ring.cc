// Ring collectives. Patarasuk & Yuan, J. Parallel Distrib. Comput. 69 (2009) 117-124.
// n ranks, n blocks, me = this rank, next = me+1, prev = me-1; all indices mod n.
//
// ReduceScatter   for s in 0..n-2: send me-1-s to next; receive me-2-s from prev, reduce
//                 (block me travels from me+1 round to me, each rank adding its part)
// AllGather       for s in 0..n-2: send me-s to next; receive me-s-1 from prev, copy
// AllReduce       the first, one block on (rank me ends with me+1), then the second from there
// Broadcast       v = me-root: receive from v-1 if v > 0, send to v+1 if v < n-1
// Reduce          the same chain, 1 -> 2 -> ... -> n-1 -> 0 in v, each rank adding its part
// AllToAll        for s in 0..n-1: send block me+s to me+s; receive block me-s from me-s
//
// Steps n-1 (AllReduce 2(n-1)); bytes a rank sends: (n-1)/n of nBytes (AllReduce 2(n-1)/n;
// Broadcast and Reduce: nBytes).
#include "plan/ring.h"

namespace autoccl {
namespace {

// n-1 steps of reduce-scatter in which rank me's first sent block is `first` and the block it ends
// with is first+1.
void reduceRound(Flow& flow, Seat t, int first) {
  const int next = mod(t.me + 1, t.n), prev = mod(t.me - 1, t.n);
  for (int s = 0; s < t.n - 1; ++s) {
    const RecvOp op = s == t.n - 2 ? RecvOp::kReduceLast : RecvOp::kReduce;
    flow.steps.push_back({next, {mod(first - s, t.n), 1}, prev, {mod(first - s - 1, t.n), 1}, op});
  }
}

// n-1 steps of all-gather that begin with sending block `own`.
void gatherRound(Flow& flow, Seat t, int own) {
  const int next = mod(t.me + 1, t.n), prev = mod(t.me - 1, t.n);
  for (int s = 0; s < t.n - 1; ++s)
    flow.steps.push_back(
        {next, {mod(own - s, t.n), 1}, prev, {mod(own - s - 1, t.n), 1}, RecvOp::kCopy});
}

}  // namespace

Plan ringAllReduce(Seat t) {
  Flow flow;
  if (t.n == 1) flow.steps.push_back(keep(0, {0, 1}));
  reduceRound(flow, t, t.me);
  gatherRound(flow, t, mod(t.me + 1, t.n));
  return {t.n, 1, {flow}};
}

Plan ringReduceScatter(Seat t) {
  Flow flow;
  if (t.n == 1) flow.steps.push_back(keep(0, {0, 1}));
  reduceRound(flow, t, t.me - 1);
  return {t.n, 1, {flow}};
}

Plan ringAllGather(Seat t) {
  Flow flow;
  flow.steps.push_back(keep(t.me, {t.me, 1}));
  gatherRound(flow, t, t.me);
  return {t.n, 1, {flow}};
}

Plan ringBroadcast(Seat t) {
  const int v = mod(t.me - t.root, t.n);
  Flow flow;
  if (v == 0) flow.steps.push_back(keep(t.me, {0, 1}));
  if (v > 0) flow.steps.push_back({0, {}, mod(t.me - 1, t.n), {0, 1}, RecvOp::kCopy});
  if (v < t.n - 1) flow.steps.push_back({mod(t.me + 1, t.n), {0, 1}, 0, {}, RecvOp::kNone});
  return {1, 1, {flow}};
}

Plan ringReduce(Seat t) {
  const int v = mod(t.me - t.root, t.n);
  Flow flow;
  if (t.n == 1) flow.steps.push_back(keep(0, {0, 1}));
  if (t.n > 1 && v != 1) {
    const RecvOp op = v == 0 ? RecvOp::kReduceLast : RecvOp::kReduce;
    flow.steps.push_back({0, {}, mod(t.me - 1, t.n), {0, 1}, op});
  }
  if (v != 0) flow.steps.push_back({mod(t.me + 1, t.n), {0, 1}, 0, {}, RecvOp::kNone});
  return {1, 1, {flow}};
}

Plan ringAllToAll(Seat t) {
  Flow flow;
  flow.steps.push_back(keep(t.me, {t.me, 1}));
  for (int s = 1; s < t.n; ++s) {
    const int to = mod(t.me + s, t.n), from = mod(t.me - s, t.n);
    flow.steps.push_back({to, {to, 1}, from, {from, 1}, RecvOp::kCopy});
  }
  return {t.n, 1, {flow}};
}

}  // namespace autoccl
