#include "tune/ledger.h"

#include <algorithm>
#include <cmath>

#include "tune/statistics.h"

namespace autoccl {
namespace {

constexpr double kFirstNoise = 0.05;
constexpr double kLeastNoise = 0.004;
constexpr double kDriftPerEpoch = 0.02;  // deviation of the walk between neighbouring epochs
constexpr double kHuber = 2.5;
constexpr double kSeFloor = 0.002;
constexpr int kSweeps = 20;

}  // namespace

void Ledger::add(size_t epoch, const Config& c, double us) {
  if (drift_.size() <= epoch) drift_.resize(epoch + 1, drift_.empty() ? 0.0 : drift_.back());
  Estimate& row = rows_[c];
  ++row.samples;
  samples_.push_back({epoch, &row, std::log(us), 1.0});
}

void Ledger::fail(const Config& c) {
  rows_[c].failed = true;
}

Ledger::Estimate Ledger::of(const Config& c) const {
  const auto at = rows_.find(c);
  return at == rows_.end() ? Estimate{} : at->second;
}

void Ledger::sweepConfigs() {
  std::map<Estimate*, std::pair<double, double>> sums;
  for (const Seen& s : samples_) {
    auto& [sum, weight] = sums[s.row];
    sum += s.weight * (s.logUs - drift_[s.epoch]);
    weight += s.weight;
  }
  for (const auto& [row, sum] : sums) {
    row->logUs = sum.first / sum.second;
    row->se = std::max(kSeFloor, noise_ / std::sqrt(sum.second));
  }
}

void Ledger::sweepEpochs() {
  std::vector<double> sum(drift_.size(), 0), weight(drift_.size(), 0);
  for (const Seen& s : samples_) {
    sum[s.epoch] += s.weight * (s.logUs - s.row->logUs);
    weight[s.epoch] += s.weight;
  }
  const double precision = 1 / (noise_ * noise_), tie = 1 / (kDriftPerEpoch * kDriftPerEpoch);
  for (size_t k = 0; k < drift_.size(); ++k) {
    double top = precision * sum[k], bottom = precision * weight[k];
    if (k > 0) top += tie * drift_[k - 1], bottom += tie;
    if (k + 1 < drift_.size()) top += tie * drift_[k + 1], bottom += tie;
    if (bottom > 0) drift_[k] = top / bottom;
  }
}

void Ledger::reweigh() {
  std::vector<double> residuals;
  size_t repeated = 0;
  for (const Seen& s : samples_)
    if (s.row->samples > 1) {
      residuals.push_back(s.logUs - s.row->logUs - drift_[s.epoch]);
      ++repeated;
    }
  size_t configs = 0;
  for (const auto& [config, row] : rows_) configs += row.samples > 1;
  if (repeated > configs + 4) {
    const double freedom = std::sqrt(double(repeated) / double(repeated - configs));
    noise_ = std::max(kLeastNoise, robustSd(residuals) * freedom);
  } else {
    noise_ = kFirstNoise;
  }
  for (Seen& s : samples_) {
    const double away = std::abs(s.logUs - s.row->logUs - drift_[s.epoch]) / noise_;
    s.weight = away <= kHuber ? 1.0 : kHuber / away;
  }
}

void Ledger::settle() {
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    sweepConfigs();
    sweepEpochs();
    if (sweep % 4 == 3) reweigh();
  }
  sweepConfigs();
}

}  // namespace autoccl
