#include "tune/confirmation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace autoccl {
namespace {

constexpr int kLooks = 3;
constexpr double kError = 0.05;
constexpr double kErrorPerLook = kError / kLooks;
constexpr double kLeastAllowance = 0.01;

std::string gainText(const Interval& gain) {
  char text[96];
  std::snprintf(text, sizeof text, "%.3f (95 %%: %.3f to %.3f)", std::exp(gain.mean),
                std::exp(gain.low), std::exp(gain.high));
  return text;
}

std::vector<double> flat(const std::vector<std::vector<double>>& blocks) {
  std::vector<double> all;
  for (const auto& b : blocks) all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace

bool neverSlower(const Interval& gain, double selfHalfWidth) noexcept {
  return std::exp(-gain.low) <= 1 + std::max(kLeastAllowance, std::expm1(selfHalfWidth));
}

Confirmation::Confirmation(const Config& fallback, const Config& candidate,
                           std::optional<Config> rival, const PolicyOptions& options, int pairs)
    : options_(options), pairs_(std::max(2, pairs)) {
  arms_.push_back({fallback, false, {}});
  if (rival && *rival != fallback && *rival != candidate) arms_.push_back({*rival, false, {}});
  arms_.push_back({candidate, false, {}});
}

std::vector<Trial> Confirmation::ask() const {
  const int now = look_ == 0 ? pairs_ : pairs_ << (look_ - 1);  // 1, 1 and 2 times: 1, 2, 4 in all
  std::vector<Trial> trials;
  for (int pair = 0; pair < now; ++pair)
    for (size_t i = 0; i < arms_.size(); ++i)
      trials.push_back(
          {arms_[pair % 2 ? arms_.size() - 1 - i : i].config, std::max(2, options_.callsPerTrial)});
  return trials;
}

void Confirmation::tell(const std::vector<std::vector<double>>& times,
                        const std::vector<Config>& failed) {
  for (size_t t = 0; t < times.size(); ++t) {
    const size_t pair = t / arms_.size(), place = t % arms_.size();
    arms_[pair % 2 ? arms_.size() - 1 - place : place].blocks.push_back(times[t]);
  }
  for (size_t i = 1; i < arms_.size(); ++i)
    if (std::find(failed.begin(), failed.end(), arms_[i].config) != failed.end())
      arms_[i].out = true;
  ++look_;
  decide();
}

std::vector<double> Confirmation::ratios(const Arm& over, const Arm& under) const {
  std::vector<double> logs;
  for (size_t i = 0; i < std::min(over.blocks.size(), under.blocks.size()); ++i) {
    const double a = median(over.blocks[i]), b = median(under.blocks[i]);
    if (a > 0 && b > 0) logs.push_back(std::log(a / b));
  }
  return logs;
}

bool Confirmation::accepted(const Arm& arm, bool* hopeless) const {
  const auto logs = ratios(arms_[0], arm);
  const double least = std::log1p(options_.minGain);
  const Interval strict = pairedInterval(logs, kErrorPerLook), plain = pairedInterval(logs, kError);
  *hopeless = arm.out || plain.high < least;
  return !arm.out && strict.low > least && neverSlower(plain, selfHalfWidth(arms_[0].blocks));
}

void Confirmation::decide() {
  const Arm& candidate = arms_.back();
  bool hopeless = false;
  const bool wins = accepted(candidate, &hopeless);
  if (arms_.size() == 2) {
    if (wins) return settleOn(candidate, "gain over the default ");
    if (hopeless || look_ >= kLooks)
      settleOn(arms_[0],
               "the default stays: " + toText(candidate.config) +
                   (candidate.out ? " failed"
                                  : " had a gain of " + gainText(pairedInterval(
                                                            ratios(arms_[0], candidate), kError))) +
                   " on ");
    return;
  }
  const Arm& rival = arms_[1];
  if (wins && (rival.out || pairedInterval(ratios(rival, candidate), kError).mean >= 0))
    return settleOn(candidate, "gain over the default, and no slower than the choice before: ");
  if (!hopeless && !wins && look_ < kLooks) return;
  bool rivalHopeless = false;
  if (accepted(rival, &rivalHopeless))
    return settleOn(rival, "the choice before stays, gain over the default ");
  if (wins && look_ >= kLooks) return settleOn(candidate, "gain over the default ");
  if (rivalHopeless || look_ >= kLooks)
    settleOn(arms_[0], "neither candidate nor the choice before beat the default on ");
}

void Confirmation::settleOn(const Arm& arm, const std::string& why) {
  Confirmed c;
  c.choice = arm.config;
  if (&arm != &arms_[0]) c.gain = pairedInterval(ratios(arms_[0], arm), kError);
  c.selfWidth = selfHalfWidth(arms_[0].blocks);
  const auto base = flat(arms_[0].blocks), own = flat(arm.blocks);
  c.defaultUs = median(base);
  c.choiceUs = median(own);
  c.defaultSe = medianSe(base);
  c.choiceSe = medianSe(own);
  c.samples = static_cast<int>(own.size());
  const bool gained = &arm != &arms_[0];
  if (gained) c.samples += static_cast<int>(base.size());
  c.decidedBy = why + (gained ? gainText(c.gain) + " on " : "") +
                std::to_string(base.size() + flat(arms_.back().blocks).size()) +
                " fresh interleaved";
  outcome_ = c;
}

}  // namespace autoccl
