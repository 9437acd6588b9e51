// One published block of trials, and the samples that come back for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tune/policy.h"

namespace autoccl {

/// Trials of one task in call order, from an agreed call on. Samples are matched by call index,
/// whatever order they come in; a round is over when every call was told, or when calls so far
/// beyond its end have come that the missing ones must be lost. Thread-compatible.
class Round {
 public:
  Round() = default;
  explicit Round(std::vector<Trial> trials);

  [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }
  [[nodiscard]] uint64_t calls() const { return calls_; }
  void begin(uint64_t fromCall, uint64_t version);
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] uint64_t fromCall() const { return fromCall_; }
  [[nodiscard]] uint64_t version() const { return version_; }
  /// True if the call belongs to the round.
  [[nodiscard]] bool holds(uint64_t callIndex) const {
    return begun_ && callIndex >= fromCall_ && callIndex - fromCall_ < calls_;
  }
  /// The config that the table prescribes for a call of the round.
  [[nodiscard]] const Config& asked(uint64_t callIndex) const {
    return trials_[trialOf(callIndex)].config;
  }
  /// Takes a sample of a call that it holds; a second one for the same call is ignored.
  void put(const Sample& sample);
  /// A call outside the round has come.
  void passed(uint64_t callIndex);
  /// What has not been told by now will not be.
  void giveUp() { beyond_ = std::max(beyond_, kPatience); }
  [[nodiscard]] bool over() const;
  /// How many calls the latest call is beyond the end.
  [[nodiscard]] uint64_t beyond() const { return beyond_; }
  /// The trial of a call that it holds.
  [[nodiscard]] size_t trialOf(uint64_t callIndex) const;
  /// Calls told.
  [[nodiscard]] uint64_t told() const { return told_; }
  /// Calls that were never told.
  [[nodiscard]] uint64_t missing() const { return calls_ - told_; }
  /// First call of a trial; its usable samples' times; all samples in call order.
  [[nodiscard]] uint64_t firstCall(size_t trial) const { return fromCall_ + starts_[trial]; }
  [[nodiscard]] std::vector<double> times(size_t trial) const;
  [[nodiscard]] std::vector<Sample> samples() const;
  [[nodiscard]] bool anyFailed(size_t trial) const;

 private:
  [[nodiscard]] std::span<const Sample> of(size_t trial) const;
  static constexpr uint64_t kPatience = 64;  // calls beyond the end before the missing are lost

  std::vector<Trial> trials_;
  std::vector<uint64_t> starts_;
  std::vector<Sample> byCall_;
  std::vector<bool> have_;
  uint64_t calls_ = 0, told_ = 0, beyond_ = 0;
  uint64_t fromCall_ = 0, version_ = 0;
  bool begun_ = false;
};

}  // namespace autoccl
