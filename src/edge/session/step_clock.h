// Lengths of training steps, from the program's marks or from the sequence of its calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/spsc_ring.h"
#include "tune/step_finder.h"

namespace autoccl {

/// One training step: its length and how much of it the program waited for communication.
struct StepLength {
  int64_t endNs = 0;
  double ms = 0;
};

/// Marks win over the call sequence: once the program has marked a step, the finder is not asked.
/// mark: any one thread, wait-free; everything else: the agent thread.
class StepClock {
 public:
  void mark(int64_t nowNs) noexcept { marks_.push(nowNs); }
  /// A call of the leader's own rank, in order of issue.
  void call(uint64_t taskKey, int64_t arrivedNs);
  /// Steps that ended since the last take.
  [[nodiscard]] std::vector<StepLength> take();
  [[nodiscard]] bool marked() const noexcept { return lastMarkNs_ != 0; }

 private:
  SpscRing<int64_t, 1024> marks_;
  StepFinder finder_;
  int64_t lastMarkNs_ = 0;
  std::vector<StepLength> ready_;
};

}  // namespace autoccl
