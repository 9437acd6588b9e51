// The last word on a candidate: fresh interleaved blocks against the default, and the rule of
// "never slower".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tune/policy.h"
#include "tune/statistics.h"

namespace autoccl {

/// The rule: with `gain` the log of default/tuned, the upper 95 % bound of tuned/default is at most
/// 1 + max(1 %, selfHalfWidth). selfHalfWidth is the A/A half-width of the same calls, in log
/// units.
[[nodiscard]] bool neverSlower(const Interval& gain, double selfHalfWidth) noexcept;

/// What one confirmation found.
struct Confirmed {
  Config choice;         // the candidate, the rival or the default
  Interval gain;         // log(default/choice) at 95 %
  double selfWidth = 0;  // A/A half-width of the default's blocks
  double defaultUs = 0, choiceUs = 0;
  double defaultSe = 0, choiceSe = 0;
  int samples = 0;
  std::string decidedBy;  // ends with a number of samples; what they are is the caller's to add
};

/// Compares a candidate, and where a tuned config serves already that one too (the rival), with the
/// default. Blocks of all of them alternate, the order turned round at every pair, so that drift
/// and the order cancel; every pair gives a log ratio of block medians. Looks after 1, 2 and 4
/// times `pairs`: accepted when the lower bound of the gain (error 5 % / 3 at each look, so 2.5 %
/// in all for a false gain) is above minGain and the rule holds; rejected when the upper bound is
/// below minGain or the looks are used up. With a rival, the candidate must also be no slower than
/// the rival on average. A failed sample of a config rules that config out. Thread-compatible.
class Confirmation {
 public:
  Confirmation(const Config& fallback, const Config& candidate, std::optional<Config> rival,
               const PolicyOptions& options, int pairs);

  /// The trials of the next look.
  [[nodiscard]] std::vector<Trial> ask() const;
  /// The times of each trial asked for, in order; an empty one for a trial without usable samples.
  /// `failed` names configs that must not be used.
  void tell(const std::vector<std::vector<double>>& times, const std::vector<Config>& failed);
  [[nodiscard]] const std::optional<Confirmed>& outcome() const { return outcome_; }
  [[nodiscard]] const Config& candidate() const { return arms_.back().config; }

 private:
  struct Arm {
    Config config;
    bool out = false;
    std::vector<std::vector<double>> blocks;  // one per pair; empty where no sample was usable
  };
  [[nodiscard]] std::vector<double> ratios(const Arm& over, const Arm& under) const;
  [[nodiscard]] bool accepted(const Arm& arm, bool* hopeless) const;
  void decide();
  void settleOn(const Arm& arm, const std::string& why);

  std::vector<Arm> arms_;  // the default, the rival if any, the candidate
  PolicyOptions options_;
  int pairs_, look_ = 0;
  std::optional<Confirmed> outcome_;
};

}  // namespace autoccl
