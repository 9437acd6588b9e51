// What a search believes of each config: its own samples and its subspace's model, weighed by
// error.
#pragma once

#include <optional>
#include <vector>

#include "tune/cost_fit.h"
#include "tune/grid.h"
#include "tune/ledger.h"

namespace autoccl {

/// Posterior of a config's log time: the ledger's mean (error falls with samples) and the model's
/// prediction (error: its residual, at least 3 %). A point that nobody has measured is believed
/// by its subspace's model alone. Thread-compatible; learn() costs a fit per touched subspace.
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
  /// Settles the ledger and fits every subspace that has enough points.
  void learn();

  [[nodiscard]] Belief of(const Config& c) const;
  [[nodiscard]] Belief of(const Point& p) const { return combine(grid_.config(p), p.subspace); }
  /// The measured point of the subspace that is believed fastest.
  [[nodiscard]] std::optional<Point> best(size_t subspace) const;
  /// The valid point, measured or not, that the subspace's model predicts fastest.
  [[nodiscard]] std::optional<Point> predicted(size_t subspace) const;
  [[nodiscard]] const std::optional<CostFit>& fit(size_t subspace) const { return fits_[subspace]; }
  [[nodiscard]] const std::vector<Point>& points(size_t subspace) const {
    return points_[subspace];
  }

 private:
  [[nodiscard]] Belief combine(const Config& c, std::optional<size_t> subspace) const;
  [[nodiscard]] std::optional<size_t> subspaceOf(const Config& c) const;

  Grid grid_;
  Ledger ledger_;
  std::vector<std::vector<Point>> points_;    // valid ones, by subspace
  std::vector<std::optional<CostFit>> fits_;  // by subspace
};

}  // namespace autoccl
