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
  /// Instead of single calls: so many have been issued by now. Steps of the length known so far, by
  /// their mean over a tenth of a second or more; none where no length is known.
  void counted(uint64_t calls, int64_t nowNs);
  /// Steps that ended since the last take.
  [[nodiscard]] std::vector<StepLength> take();
  [[nodiscard]] bool marked() const noexcept { return lastMarkNs_ != 0; }

 private:
  SpscRing<int64_t, 1024> marks_;
  StepFinder finder_;
  int64_t lastMarkNs_ = 0;
  uint64_t countedCalls_ = 0;
  int64_t countedNs_ = 0;  // of the last whole step by counting; 0: counting has not begun
  std::vector<StepLength> ready_;
};

}  // namespace autoccl
