#include "edge/session/sample_joiner.h"

#include <algorithm>

namespace autoccl {
namespace {

/// From one stamp to another. What does not fit wraps, as a clock that runs over does.
int64_t elapsedNs(int64_t from, int64_t to) {
  return static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
}

}  // namespace

void SampleJoiner::put(int rank, const CallSample& s) {
  if (tasks_.size() >= kTasks && !tasks_.contains(s.taskKey)) {
    ++discarded_;
    return;
  }
  auto& calls = tasks_[s.taskKey].calls;
  Open& open = calls[s.callIndex];
  add(open, rank, s);
  if (open.seen < nRanks_) {
    if (calls.size() > kOpenCalls) {
      calls.erase(calls.begin());
      ++discarded_;
    }
    return;
  }
  finish(s.taskKey, s.callIndex, open);
  calls.erase(s.callIndex);
}

void SampleJoiner::add(Open& open, int rank, const CallSample& s) {
  if (open.seen == 0) {
    open.inEffect = s.inEffect;
    open.lastArrivalNs = s.arrivedNs;
    open.lastFinishNs = s.finishedNs;
  }
  ++open.seen;
  open.differs |= !(open.inEffect == s.inEffect);
  open.failed |= s.failed != 0;
  open.lastArrivalNs = std::max(open.lastArrivalNs, s.arrivedNs);
  open.lastFinishNs = std::max(open.lastFinishNs, s.finishedNs);
  open.leastNs = std::min(open.leastNs, elapsedNs(s.arrivedNs, s.finishedNs));
  if (rank == 0) open.atNs = s.finishedNs;
}

void SampleJoiner::finish(uint64_t taskKey, uint64_t callIndex, const Open& open) {
  const bool shared = rule_ == JoinRule::kSharedClock;
  const int64_t ns = shared ? elapsedNs(open.lastArrivalNs, open.lastFinishNs) : open.leastNs;
  const bool failed = open.failed || open.differs;
  if (ns <= 0 && !failed) {
    ++discarded_;
    return;
  }
  ready_.push_back({taskKey, callIndex, open.inEffect, failed ? 0.0 : static_cast<double>(ns) / 1e3,
                    failed, shared ? open.lastFinishNs : open.atNs});
}

}  // namespace autoccl
