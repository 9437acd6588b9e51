// Objective `step`: the training steps, which of them ran with which config, and whether a config
// that wins its own collective lengthens them.
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

/// The calls of one task beside the steps: which steps ran with one config only? Every call of the
/// task has to be told. Thread-compatible. pure: O(n log n) for n calls.
class StepCalls {
 public:
  struct Call {
    uint64_t index = 0;
    int64_t atNs = 0;  // of its end
    Config config;     // in effect
  };
  void call(const Call& c) { calls_.push_back(c); }
  /// True once the step of the last call has ended.
  [[nodiscard]] bool ready(const StepTable& steps) const;
  /// A step in which all of the task's calls ran with one config.
  struct Pure {
    uint64_t firstCall = 0;
    Config config;
    double ms = 0;
  };
  [[nodiscard]] std::vector<Pure> pure(const StepTable& steps) const;  // in order

 private:
  std::vector<Call> calls_;
};

/// Runs of calls under the default and under the candidate in turn, each long enough to hold whole
/// steps, the order turned round at every pair. Passed when the rule of "never slower" holds for
/// the steps. Thread-compatible.
class StepCheck {
 public:
  StepCheck(const Config& fallback, const Config& candidate, double callsPerStep);
  [[nodiscard]] std::vector<Trial> ask() const;
  struct Finding {
    bool passed = false;
    Interval gain;  // log(step under the default / under the candidate)
    std::string text;
  };
  /// Lengths of the whole steps of each trial asked for, in order.
  [[nodiscard]] static Finding judge(const std::vector<std::vector<double>>& stepsByTrial);

 private:
  Config fallback_, candidate_;
  int callsPerRun_;
};

}  // namespace autoccl
