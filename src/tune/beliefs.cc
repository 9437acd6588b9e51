#include "tune/beliefs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace autoccl {
namespace {

constexpr double kLeastModelError = 0.03;
constexpr double kFewPointsError = 0.25;  // of a model with no degree of freedom left
constexpr int kModelParameters = 5;

double modelError(const CostFit& fit) {
  const double trust = fit.points > kModelParameters ? 0 : kFewPointsError;
  return std::max({kLeastModelError, fit.residual, trust});
}

}  // namespace

Beliefs::Beliefs(const Space& space, bool deterministic) : grid_(space, deterministic) {
  for (size_t s = 0; s < grid_.subspaces(); ++s) points_.push_back(grid_.points(s));
  fits_.resize(points_.size());
}

std::optional<size_t> Beliefs::subspaceOf(const Config& c) const {
  const auto& all = grid_.space().subspaces;
  for (size_t s = 0; s < all.size(); ++s)
    if (all[s].holds(c)) return s;
  return std::nullopt;
}

void Beliefs::learn() {
  ledger_.settle();
  std::vector<std::vector<CostPoint>> measured(points_.size());
  for (const auto& [config, row] : ledger_.rows()) {
    const auto s = subspaceOf(config);
    if (s && row.samples > 0 && !row.failed)
      measured[*s].push_back({config, std::exp(row.logUs), double(row.samples)});
  }
  for (size_t s = 0; s < points_.size(); ++s)
    fits_[s] = fitCost(std::max<uint64_t>(1, grid_.space().task.bytes), measured[s]);
}

Beliefs::Belief Beliefs::combine(const Config& c, std::optional<size_t> subspace) const {
  const Ledger::Estimate row = ledger_.of(c);
  Belief belief;
  belief.samples = row.samples;
  belief.failed = row.failed;
  double top = 0, bottom = 0;
  if (row.samples > 0) {
    const double weight = 1 / (row.se * row.se);
    top += weight * row.logUs, bottom += weight;
  }
  if (subspace && fits_[*subspace]) {
    const double error = modelError(*fits_[*subspace]);
    const double us = fits_[*subspace]->us(c);
    if (us > 0) top += std::log(us) / (error * error), bottom += 1 / (error * error);
  }
  if (bottom > 0) belief.logUs = top / bottom, belief.se = 1 / std::sqrt(bottom);
  return belief;
}

Beliefs::Belief Beliefs::of(const Config& c) const {
  return combine(c, subspaceOf(c));
}

std::optional<Point> Beliefs::best(size_t subspace) const {
  std::optional<Point> found;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [config, row] : ledger_.rows()) {
    if (row.samples == 0 || row.failed || !grid_.space().subspaces[subspace].holds(config))
      continue;
    const auto p = grid_.nearest(config);
    if (!p || grid_.config(*p) != config) continue;
    const Belief b = combine(config, subspace);
    if (b.logUs < least) least = b.logUs, found = p;
  }
  return found;
}

std::optional<Point> Beliefs::predicted(size_t subspace) const {
  if (!fits_[subspace]) return std::nullopt;
  const Point* found = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Point& p : points_[subspace]) {
    const Config c = grid_.config(p);
    const double us = fits_[subspace]->us(c);
    if (us < least && !ledger_.of(c).failed) least = us, found = &p;
  }
  return found ? std::optional<Point>(*found) : std::nullopt;
}

}  // namespace autoccl
