// Objective `step`: does a config that wins its own collective lengthen the training step?
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tune/policy.h"
#include "tune/statistics.h"

namespace autoccl {

/// The training steps that have ended, newest last. Bounded. Times in ns of the tuner's clock.
class StepTable {
 public:
  struct Step {
    int64_t fromNs = 0, toNs = 0;
    double ms = 0;
  };
  void ended(double ms, int64_t nowNs);
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] double medianMs() const;
  [[nodiscard]] int64_t lastNs() const { return steps_.empty() ? 0 : steps_.back().toNs; }
  [[nodiscard]] const std::deque<Step>& steps() const { return steps_; }

 private:
  static constexpr size_t kMost = 512;
  std::deque<Step> steps_;
  uint64_t count_ = 0;
};

/// Runs of calls under the default and under the candidate in turn, each long enough to hold one
/// whole step. A step counts for a config when all of the task's calls in it ran with that config.
/// Passed when the rule of "never slower" holds for the steps. Thread-compatible.
class StepCheck {
 public:
  StepCheck(const Config& fallback, const Config& candidate, double callsPerStep);
  [[nodiscard]] std::vector<Trial> ask() const;
  /// A call of the check was measured.
  void call(const Config& c, int64_t atNs) { calls_.push_back({atNs, c == candidate_}); }
  /// True once the step of the last call has ended, so that it can be judged.
  [[nodiscard]] bool ready(const StepTable& steps) const;
  struct Finding {
    bool passed = false;
    Interval gain;  // log(step under the default / under the candidate)
    std::string text;
  };
  [[nodiscard]] Finding judge(const StepTable& steps) const;

 private:
  struct Call {
    int64_t atNs;
    bool candidate;
  };
  Config fallback_, candidate_;
  int callsPerRun_;
  std::vector<Call> calls_;
};

}  // namespace autoccl
