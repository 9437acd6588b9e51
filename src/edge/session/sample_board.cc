#include "edge/session/sample_board.h"

#include <algorithm>

namespace autoccl {
namespace {

constexpr size_t kHeadBytes = 64;

}  // namespace

size_t SampleBoard::requiredBytes(int nRanks) {
  return kHeadBytes + sizeof(RankBoard) * static_cast<size_t>(nRanks);
}

SampleBoard::SampleBoard(void* area, int) noexcept
    : head_(static_cast<std::atomic<uint64_t>*>(area)),
      ranks_(reinterpret_cast<RankBoard*>(static_cast<std::byte*>(area) + kHeadBytes)) {}

void SampleJoiner::put(const CallSample& s) {
  auto& calls = tasks_[s.taskKey].calls;
  Open& open = calls[s.callIndex];
  if (open.seen == 0) open.inEffect = s.inEffect;
  open.differs |= !(open.inEffect == s.inEffect);
  open.failed |= s.failed != 0;
  open.lastArrivalNs = std::max(open.lastArrivalNs, s.arrivedNs);
  open.lastFinishNs = std::max(open.lastFinishNs, s.finishedNs);
  if (++open.seen < nRanks_) {
    if (calls.size() > kOpenCalls) {
      calls.erase(calls.begin());
      ++discarded_;
    }
    return;
  }
  const int64_t ns = open.lastFinishNs - open.lastArrivalNs;
  const bool failed = open.failed || open.differs;
  if (ns > 0 || failed) {
    ready_.push_back({s.taskKey, s.callIndex, open.inEffect,
                      failed ? 0.0 : static_cast<double>(ns) / 1e3, failed, open.lastFinishNs});
  } else {
    ++discarded_;
  }
  calls.erase(s.callIndex);
}

}  // namespace autoccl
