#include "edge/session/step_clock.h"

#include <algorithm>
#include <utility>

namespace autoccl {

void StepClock::call(uint64_t taskKey, int64_t arrivedNs) {
  if (marked()) return;
  countedNs_ = 0;
  const auto ns = finder_.put(taskKey, arrivedNs);
  if (ns && *ns > 0)  // calls of several streams may arrive out of their order
    ready_.push_back({arrivedNs, static_cast<double>(*ns) / 1e6});
}

void StepClock::counted(uint64_t calls, int64_t nowNs) {
  constexpr int64_t kLeastNs = 100'000'000;
  constexpr uint64_t kMostSteps = 1000;  // in one go
  const uint64_t perStep = finder_.period();
  if (marked() || perStep == 0) return;
  if (countedNs_ == 0) {
    countedCalls_ = calls;
    countedNs_ = nowNs;
    return;
  }
  const uint64_t steps = (calls - countedCalls_) / perStep;
  if (nowNs - countedNs_ < kLeastNs || steps == 0) return;
  const double done = static_cast<double>(calls - countedCalls_) / static_cast<double>(perStep);
  const double ms = static_cast<double>(nowNs - countedNs_) / 1e6 / done;
  for (uint64_t i = 0; i < std::min(steps, kMostSteps); ++i) ready_.push_back({nowNs, ms});
  countedCalls_ = calls;
  countedNs_ = nowNs;
}

std::vector<StepLength> StepClock::take() {
  for (int64_t at = 0; marks_.pop(at); lastMarkNs_ = at) {
    if (lastMarkNs_ == 0) {
      ready_.clear();
      continue;
    }
    ready_.push_back({at, static_cast<double>(at - lastMarkNs_) / 1e6});
  }
  return std::exchange(ready_, {});
}

}  // namespace autoccl
