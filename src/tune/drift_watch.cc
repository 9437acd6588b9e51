#include "tune/drift_watch.h"

#include <algorithm>
#include <cmath>

#include "tune/confirmation.h"

namespace autoccl {
namespace {

constexpr double kShareOfBudget = 0.25;
constexpr double kLeastDistance = 500;  // calls
constexpr int kMostDoublings = 4;
constexpr int kMostUnsure = 4;
constexpr int kBlock = 2;
constexpr double kLeastAllowance = 0.01;

}  // namespace

void DriftWatch::begin(uint64_t call, double gain) {
  gain_ = gain;
  quiet_ = unsure_ = 0;
  ratios_.clear();
  plan(call);
}

void DriftWatch::plan(uint64_t call) {
  const double extra = burstCalls_ / 2.0 * std::max(0.0, gain_ - 1);  // in call-times of the choice
  const double distance = std::max(kLeastDistance, extra / std::max(1e-6, share_ * kShareOfBudget));
  nextCall_ = call + static_cast<uint64_t>(std::min(1e15, distance)) *
                         (uint64_t{1} << std::min(quiet_, kMostDoublings));
}

std::vector<Trial> DriftWatch::ask(const Config& fallback, const Config& choice) const {
  std::vector<Trial> trials;
  for (int pair = 0; pair < std::max(2, burstCalls_ / (2 * kBlock)); ++pair) {
    trials.push_back({pair % 2 ? choice : fallback, kBlock});
    trials.push_back({pair % 2 ? fallback : choice, kBlock});
  }
  return trials;
}

DriftWatch::Finding DriftWatch::tell(const std::vector<std::vector<double>>& times, uint64_t call) {
  for (size_t t = 0; t + 1 < times.size(); t += 2) {
    const bool turned = t / 2 % 2 == 1;
    const double fallback = median(times[turned ? t + 1 : t]),
                 choice = median(times[turned ? t : t + 1]);
    if (fallback > 0 && choice > 0) ratios_.push_back(std::log(fallback / choice));
  }
  const Interval gain = pairedInterval(ratios_, 0.05);
  detectable_ = std::isfinite(gain.se) ? std::expm1(gain.halfWidth()) : 0;
  if (std::exp(-gain.high) > 1 + kLeastAllowance) return Finding::kSlower;
  if (!neverSlower(gain, 0) && gain.mean < 0 && ++unsure_ < kMostUnsure) {
    nextCall_ = call;
    return Finding::kUnsure;
  }
  if (gain.mean < 0 && unsure_ >= kMostUnsure) return Finding::kSlower;
  ++quiet_;
  unsure_ = 0;
  ratios_.clear();
  plan(call);
  return Finding::kQuiet;
}

}  // namespace autoccl
