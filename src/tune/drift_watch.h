// When to check the default against the choice again, and what the checks say together.
#pragma once

#include <cstdint>
#include <vector>

#include "tune/policy.h"
#include "tune/statistics.h"

namespace autoccl {

/// Paired bursts after convergence: default and choice in turn, in blocks of two calls. The next
/// burst is so far away that the default's extra time stays under a quarter of the budget's share,
/// and twice as far after each quiet one (up to 16 times); a burst in which the choice looks slower
/// is repeated at once, up to 4 in a row, until the rule of "never slower" is broken for sure or
/// holds. Pure.
class DriftWatch {
 public:
  DriftWatch(int burstCalls, double budgetShare) : burstCalls_(burstCalls), share_(budgetShare) {}

  /// A choice begins to serve at `call`; gain = default/choice.
  void begin(uint64_t call, double gain);
  [[nodiscard]] bool due(uint64_t call) const { return call >= nextCall_; }
  [[nodiscard]] std::vector<Trial> ask(const Config& fallback, const Config& choice) const;
  enum class Finding { kQuiet, kUnsure, kSlower };
  /// Times by trial, as asked.
  Finding tell(const std::vector<std::vector<double>>& times, uint64_t call);
  /// Half-width of the last finding's interval, as a share: changes below it cannot be seen.
  [[nodiscard]] double detectable() const { return detectable_; }

 private:
  void plan(uint64_t call);
  int burstCalls_;
  double share_, gain_ = 1, detectable_ = 0;
  uint64_t nextCall_ = UINT64_MAX;
  int quiet_ = 0, unsure_ = 0;
  std::vector<double> ratios_;  // log(default/choice) of the present run of bursts
};

}  // namespace autoccl
