// PaperDescent: Algorithms 1 and 2 of "AutoCCL" (Xu et al., NSDI'25) as published. A baseline.
//
//   best := none
//   for each subspace <A,P,T>:                            Algorithm 1
//     p := random point; optimum := p; dim := 0; tuned := 0
//     while tuned < 2M:                                   Algorithm 2, M = 3
//       measure p (one call)
//       if faster than optimum: lr := relative gain; optimum := p; tuned := 0
//       else: dim := (dim + 1) mod M; tuned := tuned + 1
//       p := optimum with coordinate dim increased by lr
//     if optimum is faster than best: best := optimum
//
// Only what makes the text executable is added: lr moves grid indices, round(lr x length) between 1
// and a quarter of the grid, doubled after a success and 1 again after a failure, per dimension; it
// stops after 2M failures at step 1; the start is measured before it is compared; points that are
// not possible count as failures; grids are geometric; times stand for bandwidths. Kept as
// published: random start, ascending moves only, one sample and '>', the default is not a
// candidate.
#include <algorithm>
#include <array>
#include <cmath>

#include "tune/chance.h"
#include "tune/grid.h"
#include "tune/policy_table.h"

namespace autoccl {
namespace {

class PaperDescent : public Policy {
 public:
  PaperDescent(const Space& space, const PolicyOptions& options)
      : grid_(space, options.deterministic), chance_(options.seed), maxCalls_(options.maxCalls) {
    best_ = space.fallback;
    enter();
  }

  std::vector<Trial> ask() override {
    if (done()) return {};
    ++asked_;
    return {{grid_.config(point_), 1}};
  }

  void tell(std::span<const Sample> samples) override {
    const bool usable = !samples.empty() && !samples[0].failed;
    judge(usable ? samples[0].us : 0);
    while (!done() && !propose()) judge(0);
  }

  [[nodiscard]] Config best() const override { return best_; }
  [[nodiscard]] bool done() const override {
    return subspace_ >= grid_.subspaces() || asked_ >= maxCalls_;
  }

 private:
  static constexpr int kFailures = 2 * kAxes;

  /// A random valid point of the next subspace that has one.
  void enter() {
    for (; subspace_ < grid_.subspaces(); ++subspace_) {
      const auto start =
          grid_.nearFraction(subspace_, {chance_.unit(), chance_.unit(), chance_.unit()});
      if (!start) continue;
      optimum_ = point_ = *start;
      optimumUs_ = 0;
      dim_ = failures_ = 0;
      step_.fill(1);
      return;
    }
  }

  /// us 0: not possible or not measured.
  void judge(double us) {
    if (us > 0 && (bestUs_ == 0 || us < bestUs_)) bestUs_ = us, best_ = grid_.config(point_);
    const bool start = optimumUs_ == 0;
    int& step = step_[size_t(dim_)];
    if (us > 0 && (start || us < optimumUs_)) {
      if (!start) {
        const int length = grid_.length(subspace_, dim_);
        const double rate = (optimumUs_ - us) / optimumUs_;
        const int byRate = static_cast<int>(std::lround(rate * length));
        step = std::clamp(std::max(2 * step, byRate), 1, std::max(1, length / 4));
      }
      optimum_ = point_;
      optimumUs_ = us;
      failures_ = 0;
    } else if (start) {
      failures_ = kFailures;
    } else if (step > 1) {
      step = 1;
    } else {
      dim_ = (dim_ + 1) % kAxes;
      ++failures_;
    }
    if (failures_ >= kFailures) {
      ++subspace_;
      enter();
    }
  }

  /// False: the move leaves the grid or is not possible.
  bool propose() {
    if (optimumUs_ == 0) return true;  // a fresh start, to be measured
    std::array<int, kAxes> by{};
    by[size_t(dim_)] = step_[size_t(dim_)];
    const auto moved = grid_.moved(optimum_, by);
    if (moved) point_ = *moved;
    return moved.has_value();
  }

  Grid grid_;
  Chance chance_;
  int maxCalls_, asked_ = 0;
  size_t subspace_ = 0;
  Point point_, optimum_;
  double optimumUs_ = 0;
  int dim_ = 0, failures_ = 0;
  std::array<int, kAxes> step_{1, 1, 1};
  Config best_;
  double bestUs_ = 0;
};

}  // namespace

std::unique_ptr<Policy> makePaperDescent(const Space& space, const PolicyOptions& options) {
  return std::make_unique<PaperDescent>(space, options);
}

}  // namespace autoccl
