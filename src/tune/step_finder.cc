#include "tune/step_finder.h"

#include <algorithm>

namespace autoccl {
namespace {

/// Shortest p such that keys (read backwards, the newest first) have period p over `repeats`
/// periods; 0: none.
size_t shortestPeriod(const std::vector<uint64_t>& keys, size_t repeats) {
  const size_t n = keys.size();
  const auto at = [&](size_t i) { return keys[n - 1 - i]; };
  std::vector<size_t> border(n, 0);  // KMP failure function of the reversed sequence
  for (size_t i = 1, k = 0; i < n; ++i) {
    while (k > 0 && at(i) != at(k)) k = border[k - 1];
    if (at(i) == at(k)) ++k;
    border[i] = k;
    const size_t period = i + 1 - k;
    if (k > 0 && i + 1 >= repeats * period) return period;
  }
  return 0;
}

}  // namespace

void StepFinder::look() {
  period_ = shortestPeriod(keys_, kRepeats);
  nextLook_ = keys_.size() + keys_.size() / 2;
  started_ = false;
}

void StepFinder::restart(uint64_t taskKey) {
  firstLook_ = std::min(kWindow / 2, std::max(2 * firstLook_, 2 * period_));
  nextLook_ = firstLook_;
  period_ = 0;
  keys_.assign(1, taskKey);
}

std::optional<int64_t> StepFinder::put(uint64_t taskKey, int64_t atNs) {
  if (keys_.size() == kWindow) keys_.erase(keys_.begin(), keys_.begin() + kWindow / 2);
  keys_.push_back(taskKey);
  if (period_ && keys_.size() > period_ && keys_[keys_.size() - 1 - period_] != taskKey)
    restart(taskKey);
  if (!period_) {
    if (keys_.size() >= nextLook_ || keys_.size() == kWindow) look();
    return std::nullopt;
  }
  if (!started_) {
    started_ = true;
    stepStartNs_ = atNs;
    sinceStart_ = 0;
    return std::nullopt;
  }
  if (++sinceStart_ < period_) return std::nullopt;
  const int64_t length = atNs - stepStartNs_;
  stepStartNs_ = atNs;
  sinceStart_ = 0;
  return length;
}

}  // namespace autoccl
