// SubspaceRace: a small design in every subspace, then trials where the truth, as far as it is
// known, may have its minimum. The default.
//
//   breadth  measure the default, the starting points and a few design points of every subspace,
//            one call each
//            while a subspace has fewer points than tell a model's terms apart: keep the better
//            half of the subspaces and measure their next design point
//   depth    repeat: fit each subspace's models, with what they leave unexplained (surrogate.h)
//                    draw N truths that may be; measure the fastest config of each draw
//            until the draws lie no further below the best than is worth a change, on average, or
//            the calls are used up
//   last     for the last quarter of the calls: measure the configs believed fastest, in turn
//
// A config is drawn as often as it is likely to be the best, so calls go where they can change the
// answer: to subspaces that may still win, to neighbours along NC, NT and C, and to configs that a
// lucky call has made look good. One ask() is a whole round over all subspaces, since a round costs
// an agreement. Draws find the region; which of its configs is the best is told by more calls of
// the few in question, so the last quarter of the calls goes to them. Gains seen here only steer
// the search: what may be reported is decided by the tuner on fresh samples. Sources: Thompson,
// Biometrika 25 (1933); Russo, Operations Research 68 (2020), for the choice among many; Jamieson &
// Talwalkar, AISTATS 2016 (halving).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tune/beliefs.h"
#include "tune/policy_table.h"

namespace autoccl {
namespace {

constexpr uint64_t kEpochCalls = 10;   // of the ledger
constexpr int kAnchorEvery = 10;       // trials of the breadth between two of the incumbent
constexpr double kBreadthShare = 0.3;  // of maxCalls, for the first round
constexpr size_t kMostDesignPoints = 5;
constexpr size_t kEnoughPoints = 4;  // of a subspace, for a model
constexpr int kLeastRound = 8;
constexpr int kSureSamples = 4;
constexpr int kDefaultEvery = 4;      // rounds of the depth between two calls of the default
constexpr size_t kDraws = 40;         // to judge what is left to win
constexpr size_t kTried = 20;         // of them, in a round; fewer towards the end
constexpr double kWorthGoing = 0.25;  // of minGain: less to win on average ends the search
constexpr double kRoundPerWorth = 4;  // trials of a round by what is to win, in units of that end
constexpr size_t kFewTried = 8;
constexpr double kLastShare = 0.25;  // of maxCalls, for the configs believed fastest
constexpr size_t kFinalists = 10;

/// Fractions of the three grids (NC, NT, C): a small design that tells the model's terms apart.
constexpr std::array<std::array<double, kAxes>, kMostDesignPoints> kDesign{
    {{0.5, 0.5, 0.5}, {0.25, 0.75, 0.75}, {0.75, 0.25, 0.4}, {0.6, 0.9, 0.2}, {0.15, 0.3, 0.9}}};

class SubspaceRace : public Policy {
 public:
  SubspaceRace(const Space& space, const PolicyOptions& options)
      : beliefs_(space, options.deterministic),
        options_(options),
        chance_(options.seed),
        best_(space.fallback) {
    for (size_t s = 0; s < grid().subspaces(); ++s)
      if (!beliefs_.configs(s).empty()) alive_.push_back(s);
    std::stable_sort(alive_.begin(), alive_.end(),
                     [&](size_t a, size_t b) { return priorOf(a) < priorOf(b); });
    if (alive_.empty()) stage_ = Stage::kDone;
  }

  std::vector<Trial> ask() override {
    if (stage_ == Stage::kFirst) return withAnchors(firstRound());
    if (stage_ == Stage::kBreadth) return withAnchors(designPoints(1));
    return withAnchors(depthRound());
  }

  void tell(std::span<const Sample> samples) override {
    for (const Sample& s : samples) {
      used_ += s.asked;
      if (s.failed || s.us <= 0)
        beliefs_.fail(s.config);
      else
        beliefs_.add(size_t(s.callIndex / kEpochCalls), s.config, s.us);
    }
    beliefs_.learn();
    best_ = choose();
    ++rounds_;
    advance();
  }

  [[nodiscard]] bool wantsServed() const override { return true; }
  [[nodiscard]] Config best() const override { return best_; }
  [[nodiscard]] bool done() const override { return stage_ == Stage::kDone; }
  [[nodiscard]] std::string_view phase() const override {
    return stage_ == Stage::kDepth ? "depth" : "breadth";
  }
  [[nodiscard]] std::optional<CostFit> model() const override {
    for (size_t s = 0; s < grid().subspaces(); ++s)
      if (grid().space().subspaces[s].holds(best_)) return beliefs_.fit(s);
    return std::nullopt;
  }

 private:
  enum class Stage { kFirst, kBreadth, kDepth, kDone };

  [[nodiscard]] const Grid& grid() const { return beliefs_.grid(); }
  [[nodiscard]] const Config& fallback() const { return grid().space().fallback; }

  [[nodiscard]] double priorOf(size_t s) const {
    const auto p = grid().nearFraction(s, kDesign[0]);
    return p ? grid().space().priorUs(grid().config(*p)) : std::numeric_limits<double>::infinity();
  }

  /// One call of each, as far as the calls go: neighbours share what they say, so many configs
  /// tell more than many calls of one. In the breadth, where nothing recurs, the incumbent comes
  /// between, and the default now and then, so that the ledger can tell drift from difference.
  [[nodiscard]] std::vector<Trial> withAnchors(const std::vector<Config>& wanted) const {
    std::vector<Trial> trials;
    const bool breadth = stage_ != Stage::kDepth;
    if (breadth || rounds_ % kDefaultEvery == 0) trials.push_back({fallback(), 1});
    const int room = options_.maxCalls - used_;
    int since = 0;
    for (const Config& c : wanted) {
      if (breadth && ++since % kAnchorEvery == 0) trials.push_back({best_, 1});
      trials.push_back({c, 1});
    }
    if (breadth || trials.empty()) trials.push_back({best_, 1});
    if (int(trials.size()) > room) trials.resize(size_t(std::max(0, room)));
    return trials;
  }

  [[nodiscard]] std::vector<Config> firstRound() {
    std::vector<Config> wanted;
    for (const Config& start : options_.starts)
      if (const auto p = grid().nearest(start)) wanted.push_back(grid().config(*p));
    if (const auto p = grid().nearest(fallback())) wanted.push_back(grid().config(*p));
    const size_t most = std::max<size_t>(1, size_t(kBreadthShare * options_.maxCalls));
    const size_t each = std::clamp<size_t>(most / alive_.size(), 1, kMostDesignPoints);
    for (const Config& c : designPoints(each))
      if (wanted.size() < most && std::find(wanted.begin(), wanted.end(), c) == wanted.end())
        wanted.push_back(c);
    return wanted;
  }

  /// The next `each` design points of the subspaces in play.
  [[nodiscard]] std::vector<Config> designPoints(size_t each) {
    std::vector<Config> wanted;
    for (const size_t end = std::min(kMostDesignPoints, designed_ + each); designed_ < end;
         ++designed_)
      for (const size_t s : alive_)
        if (const auto p = grid().nearFraction(s, kDesign[designed_]))
          wanted.push_back(grid().config(*p));
    return wanted;
  }

  void halve() {
    std::vector<std::pair<double, size_t>> order;
    for (const size_t s : alive_)
      if (const auto c = beliefs_.best(s)) order.emplace_back(beliefs_.of(*c).logUs, s);
    std::stable_sort(order.begin(), order.end(),
                     [](auto& a, auto& b) { return a.first < b.first; });
    order.resize((order.size() + 1) / 2);
    alive_.clear();
    for (const auto& [logUs, s] : order) alive_.push_back(s);
  }

  void advance() {
    if (stage_ == Stage::kFirst || stage_ == Stage::kBreadth) {
      stage_ = designed_ >= kEnoughPoints ? Stage::kDepth : Stage::kBreadth;
      if (stage_ == Stage::kBreadth) halve();
      if (alive_.empty()) stage_ = Stage::kDone;
    }
    if (stage_ == Stage::kDepth) draw();
    if (used_ + kLeastRound > options_.maxCalls) stage_ = Stage::kDone;
  }

  /// What the next round tries; the end when there is too little left to win.
  void draw() {
    drawn_ = beliefs_.drawBest(kDraws, best_, chance_);
    double below = 0;
    for (const auto& d : drawn_) below += d.below / double(kDraws);
    const double enough = kWorthGoing * options_.minGain;
    if (below < enough) stage_ = Stage::kDone;
    if (options_.maxCalls - used_ <= kLastShare * options_.maxCalls) return gatherFinalists();
    const double tried = std::min(double(kTried), kRoundPerWorth * below / enough);
    drawn_.resize(std::max(kFewTried, size_t(tried)));
  }

  /// The measured configs believed fastest.
  void gatherFinalists() {
    std::vector<std::pair<double, Config>> order;
    for (const auto& [config, row] : beliefs_.ledger().rows())
      if (row.samples > 0 && !row.failed) order.emplace_back(beliefs_.of(config).logUs, config);
    const auto end = order.begin() + std::ptrdiff_t(std::min(kFinalists, order.size()));
    std::partial_sort(order.begin(), end, order.end());
    drawn_.clear();
    for (auto at = order.begin(); at != end; ++at) drawn_.push_back({at->second, 0});
  }

  [[nodiscard]] std::vector<Config> depthRound() const {
    std::vector<Config> wanted = thriftier();
    for (const auto& d : drawn_) wanted.push_back(d.config);
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    return wanted;
  }

  /// Neighbours of the best with fewer channels or threads that seem as fast and were hardly
  /// measured.
  [[nodiscard]] std::vector<Config> thriftier() const {
    std::vector<Config> found;
    const auto at = grid().nearest(best_);
    if (!at || grid().config(*at) != best_) return found;
    const double limit = beliefs_.of(best_).logUs + options_.minGain / 2;
    for (const std::array<int, kAxes> by : {std::array{-1, 0, 0}, std::array{0, -1, 0}}) {
      const auto p = grid().moved(*at, by);
      if (!p) continue;
      const auto b = beliefs_.of(grid().config(*p));
      const bool unsure = b.samples < kSureSamples;
      if (!b.failed && unsure && b.logUs - b.se < limit) found.push_back(grid().config(*p));
    }
    return found;
  }

  /// The config believed fastest among those measured more than once; of those within half
  /// the least gain of it the cheapest. The default where nothing is believed faster.
  [[nodiscard]] Config choose() const {
    std::vector<std::pair<double, Config>> order;
    for (const auto& [config, row] : beliefs_.ledger().rows())
      if (row.samples > 1 && !row.failed) order.emplace_back(beliefs_.of(config).logUs, config);
    std::sort(order.begin(), order.end());
    if (order.empty()) return fallback();
    const double least = order[0].first;
    Config chosen = order[0].second;
    for (const auto& [logUs, config] : order)
      if (logUs - least < options_.minGain / 2 && cheaper(config, chosen)) chosen = config;
    const auto standing = beliefs_.of(fallback());
    if (standing.samples > 0 && standing.logUs <= beliefs_.of(chosen).logUs) return fallback();
    return chosen;
  }

  Beliefs beliefs_;
  PolicyOptions options_;
  Chance chance_;
  Config best_;
  Stage stage_ = Stage::kFirst;
  std::vector<size_t> alive_;  // subspaces in play, by the engine's prior
  std::vector<Beliefs::Drawn> drawn_;
  size_t designed_ = 0;  // design points that the subspaces in play have had
  int used_ = 0, rounds_ = 0;
};

}  // namespace

std::unique_ptr<Policy> makeSubspaceRace(const Space& space, const PolicyOptions& options) {
  return std::make_unique<SubspaceRace>(space, options);
}

}  // namespace autoccl
