#include "tune/beliefs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace autoccl {
namespace {

constexpr size_t kLeastForModel = 3;  // configs; fewer points than this fit no model

}  // namespace

Beliefs::Beliefs(const Space& space, bool deterministic) : grid_(space, deterministic) {
  const uint64_t bytes = std::max<uint64_t>(1, space.task.bytes);
  for (size_t s = 0; s < grid_.subspaces(); ++s) {
    std::vector<Point> points = grid_.points(s);
    std::vector<Config> configs;
    configs.reserve(points.size());
    for (const Point& p : points) configs.push_back(grid_.config(p));
    surrogates_.emplace_back(bytes, std::move(points), std::move(configs));
  }
  stale_.assign(surrogates_.size(), false);
}

std::optional<size_t> Beliefs::subspaceOf(const Config& c) const {
  const auto& all = grid_.space().subspaces;
  for (size_t s = 0; s < all.size(); ++s)
    if (all[s].holds(c)) return s;
  return std::nullopt;
}

/// Configs of a subspace ascend, as its points do.
std::optional<Beliefs::Place> Beliefs::onGrid(const Config& c) const {
  const auto s = subspaceOf(c);
  if (!s) return std::nullopt;
  const auto& configs = surrogates_[*s].configs();
  const auto at = std::lower_bound(configs.begin(), configs.end(), c);
  if (at == configs.end() || *at != c) return std::nullopt;
  return Place{*s, size_t(at - configs.begin())};
}

void Beliefs::add(size_t epoch, const Config& c, double us) {
  ledger_.add(epoch, c, us);
  if (const auto s = subspaceOf(c)) stale_[*s] = true;
}

void Beliefs::fail(const Config& c) {
  ledger_.fail(c);
  anyFailed_ = true;
  if (const auto s = subspaceOf(c)) stale_[*s] = true;
}

void Beliefs::learn() {
  ledger_.settle();
  std::vector<std::vector<Surrogate::Observed>> measured(surrogates_.size());
  for (const auto& [config, row] : ledger_.rows())
    if (const auto p = onGrid(config); p && row.samples > 0 && !row.failed)
      measured[p->first].push_back({p->second, row.logUs, row.se, row.samples});
  for (size_t s = 0; s < surrogates_.size(); ++s)
    if (stale_[s]) surrogates_[s].fit(measured[s], ledger_.noise());
  stale_.assign(surrogates_.size(), false);
}

Beliefs::Belief Beliefs::of(const Config& c) const {
  const Ledger::Estimate row = ledger_.of(c);
  Belief b{row.logUs, row.samples > 0 ? row.se : 1e9, row.samples, row.failed};
  const auto p = onGrid(c);
  if (p && surrogates_[p->first].fitted()) {
    b.logUs = surrogates_[p->first].mean(p->second);
    b.se = surrogates_[p->first].sd(p->second);
  }
  return b;
}

std::optional<Config> Beliefs::best(size_t subspace) const {
  std::optional<Config> found;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [config, row] : ledger_.rows()) {
    if (row.samples == 0 || row.failed || !grid_.space().subspaces[subspace].holds(config))
      continue;
    const double us = of(config).logUs;
    if (us < least) least = us, found = config;
  }
  return found;
}

std::vector<Beliefs::Drawn> Beliefs::drawBest(size_t count, const Config& chosen,
                                              Chance& chance) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double standing = of(chosen).logUs;
  std::vector<Drawn> best(count, Drawn{chosen, 0});
  std::vector<double> least(count, kNever), own(count, standing);
  const auto take = [&](size_t d, const Config& c, double truth) {
    if (c == chosen) own[d] = truth;
    if (truth < least[d]) least[d] = truth, best[d].config = c;
  };
  for (const Surrogate& s : surrogates_) {
    // Too few configs for a model: each stands for itself.
    for (size_t i = 0; s.configs().size() < kLeastForModel && i < s.configs().size(); ++i) {
      const Ledger::Estimate row = ledger_.of(s.configs()[i]);
      for (size_t d = 0; row.samples > 0 && !row.failed && d < count; ++d)
        take(d, s.configs()[i], row.logUs + row.se * chance.normal());
    }
    if (!s.fitted() || s.floor() > standing) continue;
    const Eigen::MatrixXd truths = s.draws(count, chance);
    for (size_t i = 0; i < s.hopeful().size(); ++i) {
      const Config& c = s.configs()[s.hopeful()[i]];
      if (anyFailed_ && ledger_.of(c).failed) continue;
      for (size_t d = 0; d < count; ++d) take(d, c, truths(Eigen::Index(i), Eigen::Index(d)));
    }
  }
  for (size_t d = 0; d < count; ++d) best[d].below = std::max(0.0, own[d] - least[d]);
  return best;
}

}  // namespace autoccl
