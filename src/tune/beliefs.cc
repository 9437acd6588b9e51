#include "tune/beliefs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace autoccl {
namespace {

constexpr double kLeastDeviation = 0.04;  // of the truth about the model
constexpr double kMostDeviation = 0.4;
constexpr double kFewPointsDeviation = 0.25;  // of a model with one degree of freedom
constexpr int kModelParameters = 5;
constexpr double kDoubtful = 0.15;
constexpr size_t kLookedAt = 80;  // points whose error is worked out, of those with the least mean

/// Deviation of the truth about the model: the fit's residual without what noise adds to it.
double deviationOf(const CostFit& fit, double noiseVariance) {
  const double unsure = kFewPointsDeviation / std::max(1, fit.points - kModelParameters);
  const double truth = std::sqrt(std::max(0.0, fit.residual * fit.residual - noiseVariance));
  return std::clamp(std::max(truth, unsure), kLeastDeviation, kMostDeviation);
}

bool apart(const Point& a, const Point& b) {
  int distance = 0;
  for (size_t i = 0; i < kAxes; ++i) distance += std::abs(a.at[i] - b.at[i]);
  return distance >= 2;
}

}  // namespace

Beliefs::Beliefs(const Space& space, bool deterministic) : grid_(space, deterministic) {
  for (size_t s = 0; s < grid_.subspaces(); ++s) points_.push_back(grid_.points(s));
  fits_.resize(points_.size());
  smooth_.resize(points_.size());
}

std::optional<size_t> Beliefs::subspaceOf(const Config& c) const {
  const auto& all = grid_.space().subspaces;
  for (size_t s = 0; s < all.size(); ++s)
    if (all[s].holds(c)) return s;
  return std::nullopt;
}

std::optional<Point> Beliefs::onGrid(const Config& c) const {
  const auto p = grid_.nearest(c);
  return p && grid_.config(*p) == c ? p : std::nullopt;
}

void Beliefs::learn(const std::vector<size_t>& alive) {
  ledger_.settle();
  std::vector<std::vector<CostPoint>> measured(points_.size());
  for (const auto& [config, row] : ledger_.rows()) {
    const auto s = subspaceOf(config);
    if (s && row.samples > 0 && !row.failed)
      measured[*s].push_back({config, std::exp(row.logUs), double(row.samples)});
  }
  for (const size_t s : alive) learnSubspace(s, measured[s]);
}

void Beliefs::learnSubspace(size_t s, const std::vector<CostPoint>& measured) {
  const uint64_t bytes = std::max<uint64_t>(1, grid_.space().task.bytes);
  fits_[s] = fitCost(bytes, measured);
  smooth_[s] = Kriging();
  if (!fits_[s]) return;
  std::vector<Kriging::Observed> observed;
  double samples = 0;
  for (const CostPoint& m : measured) {
    samples += m.weight;
    const auto p = onGrid(m.config);
    if (!p) continue;
    const double se = ledger_.of(m.config).se;
    const double residual = std::log(m.us / fits_[s]->us(m.config));
    // One call far above the model may be a straggler: it says little.
    const bool doubtful = m.weight < 2 && residual > kDoubtful + 2 * ledger_.noise();
    observed.push_back({p->at, residual, se * se + (doubtful ? residual * residual : 0)});
  }
  const double noise = ledger_.noise();
  smooth_[s].fit(observed,
                 deviationOf(*fits_[s], noise * noise * double(measured.size()) / samples));
}

double Beliefs::meanOf(const Point& p) const {
  return std::log(fits_[p.subspace]->us(grid_.config(p))) + smooth_[p.subspace].mean(p.at);
}

Beliefs::Belief Beliefs::of(const Point& p) const {
  const Ledger::Estimate row = ledger_.of(grid_.config(p));
  Belief b{row.logUs, row.samples > 0 ? row.se : 1e9, row.samples, row.failed};
  if (fits_[p.subspace]) {
    b.logUs = meanOf(p);
    b.se = smooth_[p.subspace].sd(p.at);
  }
  return b;
}

Beliefs::Belief Beliefs::of(const Config& c) const {
  if (const auto p = onGrid(c)) return of(*p);
  const Ledger::Estimate row = ledger_.of(c);
  return {row.logUs, row.samples > 0 ? row.se : 1e9, row.samples, row.failed};
}

std::optional<Point> Beliefs::best(size_t subspace) const {
  std::optional<Point> found;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [config, row] : ledger_.rows()) {
    if (row.samples == 0 || row.failed || !grid_.space().subspaces[subspace].holds(config))
      continue;
    const auto p = onGrid(config);
    if (!p) continue;
    const double us = of(*p).logUs;
    if (us < least) least = us, found = p;
  }
  return found;
}

std::vector<Point> Beliefs::promising(size_t subspace, size_t count, double optimism) const {
  std::vector<Point> chosen;
  if (!fits_[subspace]) return chosen;
  std::vector<std::pair<double, const Point*>> order;
  for (const Point& p : points_[subspace]) order.emplace_back(meanOf(p), &p);
  const size_t looked = std::min(kLookedAt, order.size());
  const auto byValue = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(looked), order.end(), byValue);
  order.resize(looked);
  if (optimism > 0)
    for (auto& [value, p] : order) value -= optimism * smooth_[subspace].sd(p->at);
  std::stable_sort(order.begin(), order.end(), byValue);
  for (const auto& entry : order) {
    if (chosen.size() >= count) break;
    const Point& p = *entry.second;
    if (ledger_.of(grid_.config(p)).failed) continue;
    if (std::all_of(chosen.begin(), chosen.end(), [&](const Point& q) { return apart(p, q); }))
      chosen.push_back(p);
  }
  return chosen;
}

}  // namespace autoccl
