// SubspaceRace: breadth by successive halving over subspaces, depth by pattern descent. The
// default.
//
//   breadth  measure the default and a few design points of every subspace
//            repeat: fit the model; keep the better half by lower bound; measure the best point and
//                    the model's optimum of each, with twice the calls; until few are left
//   depth    for each survivor: x := its best point; step := 2 indices
//              race all of x's neighbours at once (both ways on each axis, NC against C, the
//              model's optimum): x and each open neighbour get a block; a neighbour
//                wins  when its gain - z SE > minGain and it was measured,
//                loses when its gain + z SE < minGain, or after 4 blocks
//              on a win x moves there and the step doubles along the move; when all have lost the
//              step halves, and at step 1 the survivor is through
//   revisit  when calls are left: the hopes of the dropped subspaces are measured, and those that
//   come
//            close get a descent after all
//   polish   the few configs believed fastest are measured again; ties go to fewer channels, then
//            fewer threads
//
// One ask() is a whole round over all subspaces in play, since a round costs an agreement. Every
// round holds the incumbent (best so far) and the default in between, so that the ledger can take
// drift out. Gains seen here only steer the search: what may be reported is decided by the tuner on
// fresh samples. Sources: Jamieson & Talwalkar, AISTATS 2016 (halving); Hooke & Jeeves, J. ACM 8
// (1961).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "tune/beliefs.h"
#include "tune/policy_table.h"

namespace autoccl {
namespace {

constexpr size_t kSurvivors = 3;
constexpr int kAnchorEvery = 10;       // trials between two of the incumbent
constexpr double kBreadthShare = 0.3;  // of maxCalls, for the first round
constexpr int kMostDesignPoints = 5;
constexpr double kMoveZ = 1.0;     // of a move; the claim of a gain is tested elsewhere
constexpr double kOptimism = 2.0;  // errors by which a point may hope to be better than believed
constexpr double kLastOptimism = 2.0;  // the same, of the last rounds
constexpr int kMostBlocks = 4;
constexpr int kFirstStep = 2;
constexpr int kLongestStep = 4;
constexpr size_t kPolished = 5;

/// Fractions of the three grids (NC, NT, C): a small design that tells the model's terms apart.
constexpr std::array<std::array<double, kAxes>, kMostDesignPoints> kDesign{
    {{0.5, 0.5, 0.5}, {0.25, 0.75, 0.75}, {0.75, 0.25, 0.4}, {0.6, 0.9, 0.2}, {0.15, 0.3, 0.9}}};

/// The descent of one surviving subspace.
struct Descent {
  size_t subspace = 0;
  Point at;
  std::array<int, kAxes> step{kFirstStep, kFirstStep, kFirstStep};
  std::vector<std::pair<Point, int>> open{};  // neighbours and the blocks they have had
  bool opened = false;
  bool through = false;
};

class SubspaceRace : public Policy {
 public:
  SubspaceRace(const Space& space, const PolicyOptions& options)
      : beliefs_(space, options.deterministic), options_(options), best_(space.fallback) {
    for (size_t s = 0; s < grid().subspaces(); ++s)
      if (!beliefs_.points(s).empty()) alive_.push_back(s);
    std::stable_sort(alive_.begin(), alive_.end(),
                     [&](size_t a, size_t b) { return priorOf(a) < priorOf(b); });
  }

  std::vector<Trial> ask() override {
    std::vector<Config> wanted;
    if (stage_ == Stage::kFirst) wanted = firstRound();
    if (stage_ == Stage::kBreadth) wanted = hopes(alive_);
    if (stage_ == Stage::kRevisit) wanted = hopes(dropped_);
    if (stage_ == Stage::kDepth) wanted = depthRound();
    if (stage_ == Stage::kPolish) wanted = contenders();
    return withAnchors(wanted, stage_ == Stage::kFirst ? 1 : options_.callsPerTrial);
  }

  void tell(std::span<const Sample> samples) override {
    for (const Sample& s : samples) {
      ++used_;
      if (s.failed || s.us <= 0)
        beliefs_.fail(s.config);
      else
        beliefs_.add(size_t(epochCalls_++ / kAnchorEvery), s.config, s.us);
    }
    std::vector<size_t> touched = alive_;
    if (stage_ == Stage::kRevisit) touched.insert(touched.end(), dropped_.begin(), dropped_.end());
    beliefs_.learn(touched);
    advance();
    best_ = choose();
  }

  [[nodiscard]] Config best() const override { return best_; }
  [[nodiscard]] bool done() const override { return stage_ == Stage::kDone; }
  [[nodiscard]] std::string_view phase() const override {
    if (stage_ == Stage::kFirst || stage_ == Stage::kBreadth) return "breadth";
    if (stage_ == Stage::kRevisit) return "revisit";
    return stage_ == Stage::kDepth ? "depth" : "polish";
  }
  [[nodiscard]] std::optional<CostFit> model() const override {
    for (size_t s = 0; s < grid().subspaces(); ++s)
      if (grid().space().subspaces[s].holds(best_)) return beliefs_.fit(s);
    return std::nullopt;
  }

 private:
  enum class Stage { kFirst, kBreadth, kDepth, kRevisit, kPolish, kDone };

  [[nodiscard]] const Grid& grid() const { return beliefs_.grid(); }
  [[nodiscard]] const Config& fallback() const { return grid().space().fallback; }

  [[nodiscard]] double priorOf(size_t s) const {
    const auto p = grid().nearFraction(s, kDesign[0]);
    return p ? grid().space().priorUs(grid().config(*p)) : std::numeric_limits<double>::infinity();
  }

  /// The trials, with the default before and the incumbent between and after them, so that the
  /// ledger can tell drift from difference.
  [[nodiscard]] std::vector<Trial> withAnchors(const std::vector<Config>& wanted, int calls) const {
    std::vector<Trial> trials{{fallback(), 1}};
    int since = 0;
    int room = options_.maxCalls - used_ - 2;  // for the first and the last anchor
    for (const Config& c : wanted) {
      const bool anchor = since >= kAnchorEvery;
      room -= calls + anchor;
      if (room < 0) break;
      if (anchor) trials.push_back({best_, 1}), since = 0;
      trials.push_back({c, calls});
      since += calls;
    }
    trials.push_back({best_, 1});
    return trials;
  }

  [[nodiscard]] std::vector<Config> firstRound() const {
    std::vector<Config> wanted;
    for (const Config& start : options_.starts)
      if (const auto p = grid().nearest(start)) wanted.push_back(grid().config(*p));
    if (const auto p = grid().nearest(fallback())) wanted.push_back(grid().config(*p));
    const double perSubspace =
        kBreadthShare * options_.maxCalls / std::max<size_t>(1, alive_.size());
    const int points = std::clamp(int(perSubspace), 1, kMostDesignPoints);
    const size_t most = std::max<size_t>(1, size_t(kBreadthShare * options_.maxCalls));
    for (int i = 0; i < points; ++i)
      for (const size_t s : alive_) {
        const auto p = grid().nearFraction(s, kDesign[size_t(i)]);
        if (!p || wanted.size() >= most) continue;
        const Config c = grid().config(*p);
        if (std::find(wanted.begin(), wanted.end(), c) == wanted.end()) wanted.push_back(c);
      }
    return wanted;
  }

  /// Of each subspace the best point and one that may be better.
  [[nodiscard]] std::vector<Config> hopes(const std::vector<size_t>& subspaces) const {
    std::vector<Config> wanted;
    for (const size_t s : subspaces) {
      const auto best = beliefs_.best(s);
      if (best) wanted.push_back(grid().config(*best));
      for (const Point& p : beliefs_.promising(s, 1, kOptimism))
        if (p != best) wanted.push_back(grid().config(p));
    }
    return wanted;
  }

  [[nodiscard]] double lowerBound(size_t s) const {
    const auto p = beliefs_.best(s);
    if (!p) return std::numeric_limits<double>::infinity();
    const auto b = beliefs_.of(*p);
    double bound = b.logUs - b.se;
    for (const Point& m : beliefs_.promising(s, 1, 0))
      bound = std::min(bound, beliefs_.of(m).logUs);
    return bound;
  }

  void halve() {
    std::vector<std::pair<double, size_t>> order;
    for (const size_t s : alive_)
      if (const double bound = lowerBound(s); std::isfinite(bound)) order.emplace_back(bound, s);
    std::stable_sort(order.begin(), order.end(),
                     [](auto& a, auto& b) { return a.first < b.first; });
    const size_t keep = std::max(kSurvivors, (alive_.size() + 1) / 2);
    alive_.clear();
    for (size_t i = 0; i < order.size(); ++i)
      (i < keep ? alive_ : dropped_).push_back(order[i].second);
  }

  void advance() {
    if (stage_ == Stage::kFirst) {
      halve();
      stage_ = Stage::kBreadth;
    } else if (stage_ == Stage::kBreadth) {
      const bool few = alive_.size() <= kSurvivors;
      halve();
      if (few) startDepth();
    } else if (stage_ == Stage::kDepth) {
      judgeAll();
    } else if (stage_ == Stage::kRevisit) {
      takeBack();
    } else if (stage_ == Stage::kPolish && contenders().size() <= 1) {
      const bool room = used_ + kRevisitReserve <= options_.maxCalls;
      stage_ = room && !dropped_.empty() ? Stage::kRevisit : Stage::kDone;
    }
    if (stage_ == Stage::kDepth) {
      for (Descent& d : descents_) openNeighbours(d);
      if (std::all_of(descents_.begin(), descents_.end(),
                      [](const Descent& d) { return d.through; }))
        stage_ = Stage::kPolish;
    }
    if (stage_ < Stage::kRevisit && used_ + kPolishReserve > options_.maxCalls)
      stage_ = Stage::kPolish;
    if (alive_.empty() || used_ + kLeastRound > options_.maxCalls) stage_ = Stage::kDone;
  }

  void startDepth() {
    for (const size_t s : alive_)
      if (const auto p = beliefs_.best(s)) descents_.push_back({.subspace = s, .at = *p});
    stage_ = Stage::kDepth;
  }

  /// After the last rounds have settled early: dropped subspaces that came close get a descent too.
  void takeBack() {
    const double leader = beliefs_.of(best_).logUs;
    for (const size_t s : dropped_) {
      const auto p = beliefs_.best(s);
      if (!p || beliefs_.of(*p).logUs > leader + kNear) continue;
      alive_.push_back(s);
      descents_.push_back({.subspace = s, .at = *p});
      stage_ = Stage::kDepth;
    }
    dropped_.clear();
    if (stage_ != Stage::kDepth) stage_ = Stage::kDone;
  }

  /// Fills the race of a descent that has none; goes to shorter steps where nothing is left to
  /// race.
  void openNeighbours(Descent& d) {
    while (!d.through && d.open.empty()) {
      if (d.opened && !shorten(d)) break;
      d.opened = true;
      std::vector<Point> around = grid().neighbours(d.at, d.step);
      for (const Point& p : beliefs_.promising(d.subspace, 3, kOptimism))
        if (p != d.at) around.push_back(p);
      for (const Point& p : around)
        if (worthRacing(d, p)) d.open.emplace_back(p, 0);
    }
  }

  /// False, and through, at the shortest step.
  bool shorten(Descent& d) {
    if (std::all_of(d.step.begin(), d.step.end(), [](int s) { return s <= 1; })) {
      d.through = true;
      return false;
    }
    for (int& s : d.step) s = std::max(1, s / 2);
    return true;
  }

  [[nodiscard]] bool worthRacing(const Descent& d, const Point& p) const {
    for (const auto& [q, blocks] : d.open)
      if (q == p) return false;
    const auto x = beliefs_.of(d.at), y = beliefs_.of(p);
    if (y.failed) return false;
    if (y.samples >= kMostBlocks * options_.callsPerTrial)
      return x.logUs - y.logUs > options_.minGain;
    return y.logUs - kOptimism * y.se < x.logUs - options_.minGain;
  }

  [[nodiscard]] std::vector<Config> depthRound() {
    std::vector<Config> wanted;
    for (Descent& d : descents_) {
      if (d.through) continue;
      wanted.push_back(grid().config(d.at));
      for (auto& [p, blocks] : d.open) {
        wanted.push_back(grid().config(p));
        ++blocks;
      }
    }
    return wanted;
  }

  void judgeAll() {
    double leader = std::numeric_limits<double>::infinity();
    for (Descent& d : descents_) {
      judge(d);
      const auto b = beliefs_.of(d.at);
      leader = std::min(leader, b.logUs + b.se);
    }
    for (Descent& d : descents_) {
      const auto b = beliefs_.of(d.at);
      if (b.logUs - kArmZ * b.se > leader + kArmSlack) d.through = true;
    }
  }

  void judge(Descent& d) {
    if (d.through) return;
    const auto x = beliefs_.of(d.at);
    const Point* winner = nullptr;
    double most = 0;
    std::vector<std::pair<Point, int>> undecided;
    for (const auto& [p, blocks] : d.open) {
      const auto y = beliefs_.of(p);
      if (y.failed || y.samples == 0) continue;
      const double gain = x.logUs - y.logUs, se = std::hypot(x.se, y.se);
      if (gain - kMoveZ * se > options_.minGain && gain > most) most = gain, winner = &p;
      if (gain + kMoveZ * se > options_.minGain && blocks < kMostBlocks)
        undecided.emplace_back(p, blocks);
    }
    if (!winner) {
      d.open = std::move(undecided);
      return;
    }
    const Point to = *winner;
    for (int a = 0; a < kAxes; ++a)
      if (to.at[size_t(a)] != d.at.at[size_t(a)])
        d.step[size_t(a)] = std::min(kLongestStep, 2 * d.step[size_t(a)]);
    d.at = to;
    d.open.clear();
    d.opened = false;
  }

  /// The best and those that may still turn out better, measured or not.
  [[nodiscard]] std::vector<Config> contenders() const {
    std::vector<std::pair<double, Config>> order;
    const auto least = beliefs_.of(best_);
    for (const Descent& d : descents_)
      for (const Point& p : beliefs_.promising(d.subspace, kPolished, kLastOptimism)) {
        const auto b = beliefs_.of(p);
        const double hope = b.logUs - kLastOptimism * b.se;
        if (hope < least.logUs - options_.minGain) order.emplace_back(hope, grid().config(p));
      }
    std::sort(order.begin(), order.end());
    std::vector<Config> chosen{best_};
    for (const Config& c : thriftier()) chosen.push_back(c);
    for (const auto& [hope, config] : order)
      if (chosen.size() < kPolished && config != best_) chosen.push_back(config);
    return chosen;
  }

  /// Neighbours of the best with fewer channels or threads that seem as fast and were hardly
  /// measured.
  [[nodiscard]] std::vector<Config> thriftier() const {
    std::vector<Config> found;
    const auto at = grid().nearest(best_);
    if (!at || grid().config(*at) != best_) return found;
    const double limit = beliefs_.of(*at).logUs + options_.minGain / 2;
    for (const std::array<int, kAxes> by : {std::array{-1, 0, 0}, std::array{0, -1, 0}}) {
      const auto p = grid().moved(*at, by);
      if (!p) continue;
      const auto b = beliefs_.of(*p);
      const bool unsure = b.samples < 2 * options_.callsPerTrial;
      if (!b.failed && unsure && b.logUs - kOptimism * b.se < limit)
        found.push_back(grid().config(*p));
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

  static constexpr int kPolishReserve = 60;
  static constexpr int kRevisitReserve = 80;
  static constexpr double kNear = 0.05;
  static constexpr int kLeastRound = 6;
  static constexpr double kArmZ = 1.0;
  static constexpr double kArmSlack = 0.01;

  Beliefs beliefs_;
  PolicyOptions options_;
  Config best_;
  Stage stage_ = Stage::kFirst;
  std::vector<size_t> alive_, dropped_;
  std::vector<Descent> descents_;
  int used_ = 0, epochCalls_ = 0;
};

}  // namespace

std::unique_ptr<Policy> makeSubspaceRace(const Space& space, const PolicyOptions& options) {
  return std::make_unique<SubspaceRace>(space, options);
}

}  // namespace autoccl
