// Where does a training step begin? Found from the sequence of tasks a program calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace autoccl {

/// A training loop calls the same tasks in the same order, step after step. The finder keeps the
/// last task keys and looks for the shortest period p for which the last kRepeats periods are
/// equal; from then on every p-th call begins a step. When the sequence breaks (an evaluation,
/// equal layers taken for steps) it looks again, after twice as many calls as the last time.
/// Source: the failure function of Knuth, Morris and Pratt (SIAM J. Comput. 6, 1977).
/// Thread-compatible. put: amortised O(1) while a period holds, O(window) when it looks for one.
class StepFinder {
 public:
  /// A call of `taskKey` that was issued at `atNs`. Returns the length of the step that ended with
  /// this call's start, in ns, where the call begins a step and the one before was seen whole.
  std::optional<int64_t> put(uint64_t taskKey, int64_t atNs);
  /// Calls in a step; 0 while none is known.
  [[nodiscard]] size_t period() const noexcept { return period_; }

 private:
  static constexpr size_t kWindow = 4096;  // longest step is kWindow / kRepeats calls
  static constexpr size_t kRepeats = 3;
  static constexpr size_t kFirstLook = 6;  // calls before the first search

  void look();
  void restart(uint64_t taskKey);

  std::vector<uint64_t> keys_;
  size_t period_ = 0;
  size_t sinceStart_ = 0;
  size_t nextLook_ = kFirstLook;
  size_t firstLook_ = kFirstLook;  // grows with every break
  int64_t stepStartNs_ = 0;
  bool started_ = false;
};

}  // namespace autoccl
