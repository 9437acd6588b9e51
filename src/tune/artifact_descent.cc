// ArtifactDescent: the search that the authors' public code runs by default (its mode 5), rebuilt
// from reading it. A baseline. It differs from the paper:
//   - the default is measured first and takes part in the final arg-min;
//   - per subspace, a strided sample of the list of configs from a random start comes before the
//     descent, which starts at its arg-min; calls are split evenly, 60 % sample and 40 % descent;
//   - a step along NC, NT, C (in turn, up then down) sorts the unvisited configs of that half-space
//   by
//     (projection on the axis, angle) in raw units over NC, NT, C, iterations and bytes of the last
//     one; of the first max(3, lr x count) it tries the farthest three; lr = 0.8 x the relative
//     gain of the last win, and the three nearest after a failure;
//   - six failures in a row end a descent; up to five random restarts;
//   - a subspace is left when its best is 1.5 x the global best after a tenth of its steps, or 3 x
//     after five configs;
//   - one statistic per config: the mean of the fastest 75 % of its samples; '<' without any test.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "tune/chance.h"
#include "tune/grid.h"
#include "tune/policy_table.h"

namespace autoccl {
namespace {

constexpr double kPretrainShare = 0.6;
constexpr size_t kTopK = 3;
constexpr int kRestarts = 5;
constexpr int kFailures = 2 * kAxes;

using Place = std::array<double, 5>;

Place placeOf(const Config& c, uint64_t bytes) {
  const double lane = double(c.channels) * c.chunk;
  const double iterations = std::ceil(double(bytes) / std::max(1.0, lane));
  return {double(c.channels), double(c.threads), double(c.chunk), iterations,
          double(bytes) - (iterations - 1) * lane};
}

double fastMean(std::vector<double> us) {
  std::sort(us.begin(), us.end());
  us.resize(std::max<size_t>(1, us.size() * 3 / 4));
  return std::accumulate(us.begin(), us.end(), 0.0) / double(us.size());
}

class ArtifactDescent : public Policy {
 public:
  ArtifactDescent(const Space& space, const PolicyOptions& options)
      : grid_(space, options.deterministic), chance_(options.seed), repeat_(options.callsPerTrial) {
    best_ = space.fallback;
    const double trials = double(options.maxCalls) / repeat_ - 1;
    const double share = trials / double(std::max<size_t>(1, grid_.subspaces()));
    pretrain_ = std::max<size_t>(1, size_t(share * kPretrainShare));
    train_ = std::max<size_t>(1, size_t(share * (1 - kPretrainShare)));
    asked_.push_back(space.fallback);
  }

  std::vector<Trial> ask() override {
    std::vector<Trial> trials;
    for (const Config& c : asked_) trials.push_back({c, repeat_});
    return trials;
  }

  void tell(std::span<const Sample> samples) override {
    std::map<Config, std::vector<double>> byConfig;
    for (const Sample& s : samples)
      if (!s.failed) byConfig[s.config].push_back(s.us);
    for (const auto& [config, us] : byConfig) record(config, fastMean(us));
    if (!entered_ || !advance()) enterNext();
  }

  [[nodiscard]] Config best() const override { return best_; }
  [[nodiscard]] bool done() const override { return finished_; }

 private:
  void record(const Config& c, double us) {
    seen_[c] = us;
    if (bestUs_ == 0 || us < bestUs_) bestUs_ = us, best_ = c;
  }

  void enterNext() {
    subspace_ += entered_;
    entered_ = true;
    for (; subspace_ < grid_.subspaces(); ++subspace_) {
      left_.clear();
      for (const Point& p : grid_.points(subspace_)) left_.push_back(grid_.config(p));
      if (left_.empty()) continue;
      asked_.clear();
      const size_t stride = std::max<size_t>(1, left_.size() / pretrain_);
      size_t at = chance_.below(left_.size());
      for (size_t i = 0; i < std::min(pretrain_, left_.size()); ++i, at += stride)
        asked_.push_back(left_[at % left_.size()]);
      trained_ = 0;
      restarts_ = 0;
      currentUs_ = 0;
      dim_ = failures_ = 0;
      rate_ = -1;
      sign_ = 1;
      return;
    }
    finished_ = true;
    asked_.clear();
  }

  /// Takes the outcome of the last block and chooses the next one; false when the subspace is
  /// through.
  bool advance() {
    const Config* fastest = nullptr;
    for (const Config& c : asked_)
      if (const auto at = seen_.find(c);
          at != seen_.end() && (!fastest || at->second < seen_[*fastest]))
        fastest = &at->first;
    std::erase_if(left_, [&](const Config& c) {
      return std::find(asked_.begin(), asked_.end(), c) != asked_.end();
    });
    const double us = fastest ? seen_[*fastest] : 0;
    subspaceUs_ = currentUs_ == 0 ? us : std::min(subspaceUs_, us > 0 ? us : subspaceUs_);
    if (currentUs_ == 0) {
      if (us == 0) return false;
      current_ = *fastest;
      currentUs_ = us;
    } else {
      trained_ += asked_.size();
      judge(fastest, us);
    }
    if (trained_ >= train_ || left_.empty() || hopeless()) return false;
    return propose();
  }

  void judge(const Config* fastest, double us) {
    if (us > 0 && us < currentUs_) {
      rate_ = 0.8 * (currentUs_ - us) / currentUs_;
      current_ = *fastest;
      currentUs_ = us;
      failures_ = 0;
      return;
    }
    fail();
  }

  void fail() {
    ++failures_;
    rate_ = -1;
    sign_ = -sign_;
    if (sign_ > 0) dim_ = (dim_ + 1) % kAxes;
  }

  [[nodiscard]] bool hopeless() const {
    return (trained_ * 10 > train_ && subspaceUs_ > 1.5 * bestUs_) ||
           (trained_ > 5 && subspaceUs_ > 3 * bestUs_);
  }

  bool propose() {
    for (;;) {
      if (failures_ >= kFailures) {
        if (++restarts_ >= kRestarts) return false;
        asked_ = {left_[chance_.below(left_.size())]};
        failures_ = 0;
        return true;
      }
      asked_ = halfSpace();
      if (!asked_.empty()) return true;
      fail();
    }
  }

  [[nodiscard]] std::vector<Config> halfSpace() const {
    const uint64_t bytes = grid_.space().task.bytes;
    const Place here = placeOf(current_, bytes);
    std::vector<std::tuple<double, double, Config>> ahead;
    for (const Config& c : left_) {
      const Place there = placeOf(c, bytes);
      double norm = 0;
      for (size_t i = 0; i < there.size(); ++i) norm += (there[i] - here[i]) * (there[i] - here[i]);
      const double along = sign_ * (there[size_t(dim_)] - here[size_t(dim_)]);
      if (along > 0)
        ahead.emplace_back(along, std::acos(std::min(1.0, along / std::sqrt(norm))), c);
    }
    std::sort(ahead.begin(), ahead.end());
    const size_t reach = std::max(kTopK, rate_ > 0 ? size_t(rate_ * double(ahead.size())) : 0);
    if (ahead.size() > reach) ahead.resize(reach);
    const size_t drop = ahead.size() > kTopK ? ahead.size() - kTopK : 0;
    std::vector<Config> chosen;
    for (size_t i = drop; i < ahead.size(); ++i) chosen.push_back(std::get<2>(ahead[i]));
    return chosen;
  }

  Grid grid_;
  Chance chance_;
  int repeat_;
  size_t pretrain_ = 1, train_ = 1, trained_ = 0;
  size_t subspace_ = 0;
  bool entered_ = false, finished_ = false;
  std::vector<Config> left_, asked_;
  std::map<Config, double> seen_;
  Config current_;
  double currentUs_ = 0, subspaceUs_ = 0, rate_ = -1;
  int dim_ = 0, sign_ = 1, failures_ = 0, restarts_ = 0;
  Config best_;
  double bestUs_ = 0;
};

}  // namespace

std::unique_ptr<Policy> makeArtifactDescent(const Space& space, const PolicyOptions& options) {
  return std::make_unique<ArtifactDescent>(space, options);
}

}  // namespace autoccl
