// What a search believes of each config: samples, the subspace's models, and what neighbours say.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tune/chance.h"
#include "tune/grid.h"
#include "tune/ledger.h"
#include "tune/surrogate.h"

namespace autoccl {

/// Posterior of a config's log time. In a subspace with at least 3 measured points: its surrogate,
/// so that a point nobody has measured has a belief too. Elsewhere, and for configs off the grid:
/// the ledger's mean. Thread-compatible; learn() costs a fit per subspace with new samples.
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
  void add(size_t epoch, const Config& c, double us);
  void fail(const Config& c);
  /// Settles the ledger and fits the subspaces that have new samples.
  void learn();

  [[nodiscard]] Belief of(const Config& c) const;
  /// The measured config of the subspace that is believed fastest.
  [[nodiscard]] std::optional<Config> best(size_t subspace) const;
  /// A draw of what may be true, and its fastest config.
  struct Drawn {
    Config config;
    double below = 0;  // by how much it lies below `chosen` in that draw, log, >= 0
  };
  /// Over all subspaces with a surrogate; configs that failed are left out.
  [[nodiscard]] std::vector<Drawn> drawBest(size_t count, const Config& chosen,
                                            Chance& chance) const;
  [[nodiscard]] std::optional<CostFit> fit(size_t subspace) const {
    return surrogates_[subspace].model();
  }
  [[nodiscard]] const std::vector<Config>& configs(size_t subspace) const {
    return surrogates_[subspace].configs();
  }

 private:
  using Place = std::pair<size_t, size_t>;  // subspace, point
  [[nodiscard]] std::optional<size_t> subspaceOf(const Config& c) const;
  [[nodiscard]] std::optional<Place> onGrid(const Config& c) const;

  Grid grid_;
  Ledger ledger_;
  std::vector<Surrogate> surrogates_;
  std::vector<bool> stale_;
  bool anyFailed_ = false;
};

}  // namespace autoccl
