// Simulated annealing over the whole space. A baseline; Kirkpatrick, Gelatt, Vecchi, Science 220
// (1983). One trial at a time; a move changes one grid index by a step, or (one time in eight) the
// subspace. A slower neighbour is taken with probability exp(-log(us'/us) / T); T falls
// geometrically from 0.3 to 0.005 over the calls the search may use.
#include <algorithm>
#include <cmath>

#include "tune/chance.h"
#include "tune/grid.h"
#include "tune/least_median.h"
#include "tune/policy_table.h"
#include "tune/statistics.h"

namespace autoccl {
namespace {

constexpr double kHot = 0.3;
constexpr double kCold = 0.005;
constexpr size_t kJumpOneIn = 8;

class Anneal : public Policy {
 public:
  Anneal(const Space& space, const PolicyOptions& options)
      : grid_(space, options.deterministic),
        options_(options),
        chance_(options.seed),
        least_(space.fallback) {
    if (const auto p = grid_.nearest(space.fallback)) {
      at_ = *p;
      ready_ = true;
    } else if (const auto first = jump()) {
      at_ = *first;
      ready_ = true;
    }
  }

  std::vector<Trial> ask() override {
    if (!ready_) {
      asked_ = options_.maxCalls;
      return {};
    }
    std::vector<Trial> block;
    if (asked_ == 0) block.push_back({least_.best(), options_.callsPerTrial});
    next_ = atUs_ == 0 ? at_ : step();
    block.push_back({grid_.config(next_), options_.callsPerTrial});
    for (const Trial& t : block) asked_ += t.calls;
    return block;
  }

  void tell(std::span<const Sample> samples) override {
    if (!ready_) return;
    const Config tried = grid_.config(next_);
    std::vector<double> us, fallback;
    for (const Sample& s : samples)
      if (!s.failed) (s.config == tried ? us : fallback).push_back(s.us);
    least_.keep(grid_.space().fallback, median(fallback));
    const double m = median(us);
    if (m <= 0) return;
    least_.keep(tried, m);
    const double share = std::min(1.0, double(asked_) / std::max(1, options_.maxCalls));
    const double heat = kHot * std::pow(kCold / kHot, share);
    if (atUs_ == 0 || chance_.unit() < std::exp(-std::log(m / atUs_) / heat))
      at_ = next_, atUs_ = m;
  }

  [[nodiscard]] Config best() const override { return least_.best(); }
  [[nodiscard]] bool done() const override {
    return asked_ + options_.callsPerTrial > options_.maxCalls;
  }

 private:
  std::optional<Point> jump() {
    if (grid_.subspaces() == 0) return std::nullopt;
    return grid_.nearFraction(chance_.below(grid_.subspaces()),
                              {chance_.unit(), chance_.unit(), chance_.unit()});
  }

  Point step() {
    if (chance_.below(kJumpOneIn) == 0)
      if (const auto p = jump()) return *p;
    std::array<int, kAxes> by{};
    by[chance_.below(kAxes)] = chance_.below(2) ? 1 : -1;
    return grid_.moved(at_, by).value_or(at_);
  }

  Grid grid_;
  PolicyOptions options_;
  Chance chance_;
  bool ready_ = false;
  Point at_, next_;
  double atUs_ = 0;
  int asked_ = 0;
  LeastMedian least_;
};

}  // namespace

std::unique_ptr<Policy> makeAnneal(const Space& space, const PolicyOptions& options) {
  return std::make_unique<Anneal>(space, options);
}

}  // namespace autoccl
