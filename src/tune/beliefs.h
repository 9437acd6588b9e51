// What a search believes of each config: samples, the subspace's model, and what neighbours say.
#pragma once

#include <optional>
#include <vector>

#include "tune/cost_fit.h"
#include "tune/grid.h"
#include "tune/kriging.h"
#include "tune/ledger.h"

namespace autoccl {

/// Posterior of a config's log time. In a subspace with at least 3 measured points: the fitted
/// performance model plus the smoothed residuals about it (kriging), so that a point nobody has
/// measured has a belief too. Elsewhere, and for configs off the grid: the ledger's mean.
/// Thread-compatible; learn() costs a fit per subspace that has new samples.
class Beliefs {
 public:
  struct Belief {
    double logUs = 0;
    double se = 1e9;  // nothing is known
    int samples = 0;
    bool failed = false;
  };

  Beliefs(const Space& space, bool deterministic);

  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  void add(size_t epoch, const Config& c, double us) { ledger_.add(epoch, c, us); }
  void fail(const Config& c) { ledger_.fail(c); }
  /// Settles the ledger and fits the subspaces in `alive`.
  void learn(const std::vector<size_t>& alive);

  [[nodiscard]] Belief of(const Config& c) const;
  [[nodiscard]] Belief of(const Point& p) const;
  /// The measured point of the subspace that is believed fastest.
  [[nodiscard]] std::optional<Point> best(size_t subspace) const;
  /// Up to `count` points of the subspace, measured or not, least in (belief - optimism x error)
  /// and at least two index steps apart.
  [[nodiscard]] std::vector<Point> promising(size_t subspace, size_t count, double optimism) const;
  [[nodiscard]] const std::optional<CostFit>& fit(size_t subspace) const { return fits_[subspace]; }
  [[nodiscard]] const std::vector<Point>& points(size_t subspace) const {
    return points_[subspace];
  }

 private:
  [[nodiscard]] std::optional<size_t> subspaceOf(const Config& c) const;
  [[nodiscard]] std::optional<Point> onGrid(const Config& c) const;
  [[nodiscard]] double meanOf(const Point& p) const;
  void learnSubspace(size_t s, const std::vector<CostPoint>& measured);

  Grid grid_;
  Ledger ledger_;
  std::vector<std::vector<Point>> points_;  // valid ones, by subspace
  std::vector<std::optional<CostFit>> fits_;
  std::vector<Kriging> smooth_;
};

}  // namespace autoccl
