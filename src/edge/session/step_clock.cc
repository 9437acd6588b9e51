#include "edge/session/step_clock.h"

#include <utility>

namespace autoccl {

void StepClock::call(uint64_t taskKey, int64_t arrivedNs) {
  if (marked()) return;
  const auto ns = finder_.put(taskKey, arrivedNs);
  if (ns && *ns > 0)  // calls of several streams may arrive out of their order
    ready_.push_back({arrivedNs, static_cast<double>(*ns) / 1e6});
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
