// Random search: configs drawn evenly from the whole space, the least median wins. A baseline.
#include <vector>

#include "tune/chance.h"
#include "tune/grid.h"
#include "tune/least_median.h"
#include "tune/policy_table.h"

namespace autoccl {
namespace {

class Random : public Policy {
 public:
  Random(const Space& space, const PolicyOptions& options)
      : grid_(space, options.deterministic),
        options_(options),
        chance_(options.seed),
        least_(space.fallback) {
    for (size_t s = 0; s < grid_.subspaces(); ++s)
      for (const Point& p : grid_.points(s)) points_.push_back(p);
  }

  std::vector<Trial> ask() override {
    std::vector<Trial> block;
    if (asked_ == 0) block.push_back({least_.best(), options_.callsPerTrial});
    const size_t room = points_.empty() ? 0 : kBlock;
    while (block.size() < room)
      block.push_back(
          {grid_.config(points_[chance_.below(points_.size())]), options_.callsPerTrial});
    for (const Trial& t : block) asked_ += t.calls;
    if (points_.empty()) asked_ = options_.maxCalls;
    return block;
  }

  void tell(std::span<const Sample> samples) override { least_.put(samples); }

  [[nodiscard]] Config best() const override { return least_.best(); }
  [[nodiscard]] bool done() const override {
    return asked_ + static_cast<int>(kBlock) * options_.callsPerTrial > options_.maxCalls;
  }

 private:
  static constexpr size_t kBlock = 8;
  Grid grid_;
  PolicyOptions options_;
  Chance chance_;
  std::vector<Point> points_;
  int asked_ = 0;
  LeastMedian least_;
};

}  // namespace

std::unique_ptr<Policy> makeRandom(const Space& space, const PolicyOptions& options) {
  return std::make_unique<Random>(space, options);
}

}  // namespace autoccl
