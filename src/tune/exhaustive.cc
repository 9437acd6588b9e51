// Exhaustive search: every config once per block, the least median wins. The oracle of comparisons;
// its cost is the size of the space, whatever maxCalls says.
#include <vector>

#include "tune/grid.h"
#include "tune/least_median.h"
#include "tune/policy_table.h"

namespace autoccl {
namespace {

class Exhaustive : public Policy {
 public:
  Exhaustive(const Space& space, const PolicyOptions& options)
      : grid_(space, options.deterministic), calls_(options.callsPerTrial), least_(space.fallback) {
    trials_.push_back(space.fallback);
    for (size_t s = 0; s < grid_.subspaces(); ++s)
      for (const Point& p : grid_.points(s)) trials_.push_back(grid_.config(p));
  }

  std::vector<Trial> ask() override {
    std::vector<Trial> block;
    while (next_ < trials_.size() && block.size() < kBlock)
      block.push_back({trials_[next_++], calls_});
    return block;
  }

  void tell(std::span<const Sample> samples) override { least_.put(samples); }

  [[nodiscard]] Config best() const override { return least_.best(); }
  [[nodiscard]] bool done() const override { return next_ >= trials_.size(); }

 private:
  static constexpr size_t kBlock = 64;
  Grid grid_;
  int calls_;
  std::vector<Config> trials_;
  size_t next_ = 0;
  LeastMedian least_;
};

}  // namespace

std::unique_ptr<Policy> makeExhaustive(const Space& space, const PolicyOptions& options) {
  return std::make_unique<Exhaustive>(space, options);
}

}  // namespace autoccl
