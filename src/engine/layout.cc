#include "engine/layout.h"

#include <algorithm>

namespace autoccl {
namespace {

constexpr uint64_t kLayoutVersion = 2;
constexpr size_t kMiB = size_t{1} << 20;

size_t share(size_t total, size_t parts, size_t least, size_t most) {
  return std::clamp(total / parts / 4096 * 4096, least, most);
}

}  // namespace

size_t Layout::take(size_t bytes) noexcept {
  const size_t at = bytes_;
  bytes_ = roundUp(bytes_ + bytes, 4096);
  return at;
}

Layout::Layout(int nRanks, size_t sharedAreaBytes, size_t wireBytes) : nRanks_(nRanks) {
  const auto n = static_cast<size_t>(nRanks);
  stageBytes_ = share(64 * kMiB, n, kMiB, 16 * kMiB);
  mailBytes_ = share(16 * kMiB, n * n, 16384, kMiB / 2);
  take(sizeof(Control));
  infos_ = take(n * sizeof(RankInfo));
  entries_ = take(2 * n * sizeof(EntrySlot));
  finished_ = take(n * sizeof(Flag));
  lanes_ = take(kMaxLanes * sizeof(Lane));
  stageFlags_ = take(n * kMaxWorkers * sizeof(StageFlags));
  counts_ = take(2 * n * 4 * n * sizeof(size_t));
  small_ = take(2 * n * kSmallBytes);
  stage_ = take(n * stageBytes_);
  mail_ = take(n * n * mailBytes_);
  wires_ = take(wireBytes);
  sharedArea_ = take(sharedAreaBytes);
}

uint64_t Layout::fingerprint() const noexcept {
  return kLayoutVersion << 56 ^ bytes_ << 8 ^ sizeof(RankInfo) ^ sizeof(EntrySlot) << 16;
}

}  // namespace autoccl
