#include "tune/ledger.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "tune/statistics.h"

namespace autoccl {
namespace {

constexpr double kFirstNoise = 0.05;
constexpr double kLeastNoise = 0.004;
constexpr double kDriftPerEpoch = 0.01;  // deviation of the walk from one epoch to the next
constexpr double kMostDrift = 0.15;      // of it over any number of epochs
constexpr double kHuber = 2.5;
constexpr double kStraggler = 4;  // deviations above the lower median of the same config
constexpr double kStragglerWeight = 0.02;
constexpr double kSeFloor = 0.002;
constexpr int kPasses = 4;  // of solving and weighing anew

/// Precision of what is known of the drift from one epoch to a later one.
double tieBetween(size_t from, size_t to) {
  const double sd = std::min(kMostDrift, kDriftPerEpoch * double(to - from));
  return 1 / (sd * sd);
}

}  // namespace

void Ledger::add(size_t epoch, const Config& c, double us) {
  if (epochs_.empty() || epochs_.back() < epoch) {
    epochs_.push_back(epoch);
    drift_.push_back(drift_.empty() ? 0.0 : drift_.back());
  }
  Estimate& row = rows_[c];
  ++row.samples;
  samples_.push_back({epochs_.size() - 1, &row, std::log(us), 1.0});
}

void Ledger::fail(const Config& c) {
  rows_[c].failed = true;
}

Ledger::Estimate Ledger::of(const Config& c) const {
  const auto at = rows_.find(c);
  return at == rows_.end() ? Estimate{} : at->second;
}

void Ledger::averageConfigs() {
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

void Ledger::solveEpochs() {
  // The configs' effects are eliminated: what is left is one equation per epoch.
  const auto n = static_cast<Eigen::Index>(drift_.size());
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(n);
  struct Row {
    double weight = 0, sum = 0;
    std::map<Eigen::Index, double> byEpoch;
  };
  std::map<const Estimate*, Row> rows;
  for (const Seen& s : samples_) {
    Row& row = rows[s.row];
    row.weight += s.weight;
    row.sum += s.weight * s.logUs;
    row.byEpoch[static_cast<Eigen::Index>(s.epoch)] += s.weight;
  }
  const double precision = 1 / (noise_ * noise_);
  for (const Seen& s : samples_) {
    const Row& row = rows[s.row];
    const auto k = static_cast<Eigen::Index>(s.epoch);
    b[k] += precision * s.weight * (s.logUs - row.sum / row.weight);
    a(k, k) += precision * s.weight;
  }
  for (const auto& [estimate, row] : rows)
    for (const auto& [k, wk] : row.byEpoch)
      for (const auto& [l, wl] : row.byEpoch) a(k, l) -= precision * wk * wl / row.weight;
  for (Eigen::Index k = 0; k + 1 < n; ++k) {
    const double tie = tieBetween(epochs_[size_t(k)], epochs_[size_t(k) + 1]);
    a(k, k) += tie, a(k + 1, k + 1) += tie;
    a(k, k + 1) -= tie, a(k + 1, k) -= tie;
  }
  a(0, 0) += tieBetween(0, 1);  // the first epoch is the origin
  const Eigen::VectorXd drift = a.ldlt().solve(b);
  for (Eigen::Index k = 0; k < n; ++k) drift_[size_t(k)] = drift[k];
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
  // Delays only ever add: against the lower median of a config's calls, of which two suffice.
  std::map<const Estimate*, std::vector<double>> times;
  for (const Seen& s : samples_) times[s.row].push_back(s.logUs - drift_[s.epoch]);
  for (auto& [row, logs] : times) {
    const auto middle = logs.begin() + std::ptrdiff_t((logs.size() - 1) / 2);
    std::nth_element(logs.begin(), middle, logs.end());
    logs = {*middle};
  }
  for (Seen& s : samples_) {
    const double above = (s.logUs - drift_[s.epoch] - times[s.row][0]) / noise_;
    const double away = std::abs(s.logUs - s.row->logUs - drift_[s.epoch]) / noise_;
    s.weight = above > kStraggler ? kStragglerWeight : away <= kHuber ? 1.0 : kHuber / away;
  }
}

void Ledger::settle() {
  if (samples_.empty()) return;
  for (int pass = 0; pass < kPasses; ++pass) {
    solveEpochs();
    averageConfigs();
    reweigh();
  }
}

}  // namespace autoccl
