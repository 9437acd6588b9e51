// What tuning may cost: a token bucket of communication time.
#pragma once

#include <algorithm>

namespace autoccl {

/// A share of all communication time flows in, up to that share of the horizon; losing trials and
/// waits at fences flow out. An opening credit per task lets a search begin before the first minute
/// has passed. The bucket may go below zero (a trial was dearer than foreseen); then nothing is
/// tried until it has filled again. Units: microseconds. Thread-compatible, O(1).
class Budget {
 public:
  Budget(double share, double horizonS) : share_(share), mostUs_(share * horizonS * 1e6) {}

  void communicated(double us) {
    creditUs_ = std::max(creditUs_, std::min(creditUs_ + share_ * us, mostUs_));
  }
  void grant(double us) { creditUs_ += us; }
  void spend(double us) { creditUs_ -= us; }
  [[nodiscard]] double creditUs() const { return creditUs_; }
  /// A trial dearer than this can never be paid for by the flow alone.
  [[nodiscard]] double mostUs() const { return mostUs_; }

 private:
  double share_, mostUs_, creditUs_ = 0;
};

}  // namespace autoccl
