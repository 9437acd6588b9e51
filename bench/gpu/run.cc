#include "run.h"

#include <algorithm>
#include <set>

#include "bench/stats.h"

namespace autoccl::gpubench {
namespace {

/// Contenders are kinds of configs: the best of each is found first, then measured again.
struct Kind {
  const char* name;
  Transport transport;
  bool zero;
};
constexpr Kind kKinds[] = {{"direct", Transport::kP2p, false},
                           {"zero", Transport::kP2p, true},
                           {"ce", Transport::kCe, false},
                           {"cezero", Transport::kCe, true}};
constexpr uint64_t kLeastForEngines = 256u << 10;
constexpr double kSpanUs = 1500;  // one timing of the sweep lasts about this long

struct Contender {
  std::string name;
  Way way;
  double us = 0;
  std::vector<double> rounds;
};

class Measurement {
 public:
  Measurement(const Options& options, Rank& rank) : o_(options), rank_(rank) {}

  Results run() {
    results_.device = rank_.device();
    if (rank_.nccl() != nullptr) results_.nccl = rank_.nccl()->version();
    for (const Collective c : o_.collectives)
      for (const uint64_t bytes : o_.sizes) {
        if (o_.checkOnly)
          checkEnds(c, bytes);
        else
          alone(c, bytes);
      }
    if (o_.checkOnly) return std::move(results_);
    for (const uint64_t bytes : o_.sizes) results_.limits.push_back({bytes, rank_.copyUs(bytes)});
    for (const int n : o_.compute) beside(n);
    return std::move(results_);
  }

 private:
  void alone(Collective c, uint64_t bytes) {
    const direct::Call call = rank_.callOf(c, bytes);
    std::vector<Contender> contenders;
    const Way stock;
    if (rank_.can(stock, call)) contenders.push_back({"nccl", stock, sweepTime(stock, call), {}});
    for (const Kind& kind : kKinds) {
      Contender best = bestOf(kind, c, bytes);
      if (best.us == 0) continue;
      if (o_.curves && !kind.zero) curves(best, c, bytes);
      contenders.push_back(std::move(best));
    }
    for (int round = 0; round < o_.rounds; ++round)
      for (Contender& contender : contenders)
        contender.rounds.push_back(rank_.time(contender.way, call, callsFor(contender.us)));
    for (Contender& contender : contenders) {
      if (o_.check) note(rank_.check(contender.way, call));
      Row row{c, bytes, contender.name, contender.way.text(), 0, contender.rounds, 0, 0, 0};
      results_.rows.push_back(std::move(row));
    }
    found_[{c, bytes}] = std::move(contenders);
  }

  /// The least and the most of each axis, in every subspace.
  void checkEnds(Collective c, uint64_t bytes) {
    const direct::Call call = rank_.callOf(c, bytes);
    for (const Subspace& s : rank_.group().spaceFor(rank_.taskOf(c, bytes), true).subspaces)
      for (const size_t nc : std::set{size_t{0}, s.channels.size() / 2, s.channels.size() - 1})
        for (const size_t chunk : std::set{size_t{0}, s.chunks.size() - 1}) {
          const Way way{s.at(nc, nc != 0 ? s.threads.size() - 1 : 0, chunk)};
          if (rank_.can(way, call)) note(rank_.check(way, call));
        }
  }

  void note(const std::string& fault) {
    ++results_.checked;
    if (!fault.empty()) results_.faults.push_back(fault);
  }
  [[nodiscard]] static int callsFor(double us) {
    return std::clamp(static_cast<int>(kSpanUs / std::max(us, 1.0)), 3, 100);
  }
  /// Median of three short runs after one that warms up and tells how long a call takes.
  double sweepTime(const Way& way, const direct::Call& call) {
    const double first = rank_.time(way, call, 2);
    std::vector<double> times;
    times.reserve(3);
    for (int i = 0; i < 3; ++i) times.push_back(rank_.time(way, call, callsFor(first)));
    return bench::median(times);
  }

  /// A thinned grid: what lies between is close to one of these.
  [[nodiscard]] std::vector<Config> candidates(const Kind& kind, Collective c, uint64_t bytes) {
    std::vector<Config> all;
    const uint64_t piece = direct::pieceOf(rank_.taskOf(c, bytes));
    if (kind.transport == Transport::kCe && piece < kLeastForEngines) return all;
    for (const Subspace& s : rank_.group().spaceFor(rank_.taskOf(c, bytes), true).subspaces) {
      if (s.transport != kind.transport || (s.protocol == Protocol::kZero) != kind.zero) continue;
      for (const uint16_t nc : s.channels)
        for (const uint32_t chunk : s.chunks) {
          const bool few = nc < 4 && s.channels.size() > 1, odd = nc == 12 || nc == 24;
          if (few || odd || (s.channels.size() > 1 && kind.transport == Transport::kCe && nc > 32))
            continue;
          all.push_back({s.algorithm, s.protocol, s.transport, 0, nc, 512, chunk});
        }
    }
    return all;
  }
  Contender bestOf(const Kind& kind, Collective c, uint64_t bytes) {
    const direct::Call call = rank_.callOf(c, bytes);
    Contender best{kind.name, {}, 0, {}};
    for (const Config& config : candidates(kind, c, bytes)) {
      const Way way{config};
      if (!rank_.can(way, call)) continue;
      const double first = best.us > 0 ? rank_.time(way, call, 2) : 0;
      if (first > 4 * best.us) continue;  // not worth the time
      const double us = sweepTime(way, call);
      results_.points.push_back({c, bytes, config, us});
      if (best.us == 0 || us < best.us) best.us = us, best.way = way;
    }
    return best;
  }
  /// Each axis in full through the best config.
  void curves(const Contender& best, Collective c, uint64_t bytes) {
    const direct::Call call = rank_.callOf(c, bytes);
    const auto space = rank_.group().spaceFor(rank_.taskOf(c, bytes), true);
    const auto at = [&](const Config& config) {
      if (!(config == *best.way.config) && rank_.can({config}, call))
        results_.points.push_back({c, bytes, config, sweepTime({config}, call)});
    };
    for (const Subspace& s : space.subspaces) {
      Config config = *best.way.config;
      if (!s.holds(config)) continue;
      for (const uint16_t nc : s.channels) config.channels = nc, at(config);
      config = *best.way.config;
      for (const uint16_t nt : s.threads) config.threads = nt, at(config);
      config = *best.way.config;
      for (const uint32_t chunk : s.chunks) config.chunk = chunk, at(config);
    }
  }

  void beside(int n) {
    Load load(o_.cublasPath, rank_.cuda(), n);
    for (const Collective c : o_.collectives)
      for (const uint64_t bytes : o_.sizes)
        if (bytes >= 1u << 20) besideOne(load, n, c, bytes);
  }
  void besideOne(Load& load, int n, Collective c, uint64_t bytes) {
    const direct::Call call = rank_.callOf(c, bytes);
    constexpr int kCalls = 4;
    struct Beside {
      double expectedUs;
      std::vector<double> products;
    };
    auto contenders = found_[{c, bytes}];
    std::vector<Beside> states;
    for (Contender& contender : contenders) {
      contender.rounds.clear();
      states.push_back({contender.us + 2 * load.aloneUs(), {}});
    }
    for (int round = 0; round < o_.rounds; ++round)
      for (size_t i = 0; i < contenders.size(); ++i) {
        double product = 0;
        const double us =
            rank_.timeBeside(load, contenders[i].way, call, kCalls, states[i].expectedUs, product);
        if (us == 0) {  // the products ended first: longer next time
          states[i].expectedUs *= 2;
          continue;
        }
        contenders[i].rounds.push_back(us);
        states[i].products.push_back(product);
      }
    for (size_t i = 0; i < contenders.size(); ++i)
      results_.rows.push_back({c, bytes, contenders[i].name, contenders[i].way.text(), n,
                               contenders[i].rounds, contenders[i].us,
                               bench::median(states[i].products), load.aloneUs()});
  }

  const Options& o_;
  Rank& rank_;
  Results results_;
  std::map<std::pair<Collective, uint64_t>, std::vector<Contender>> found_;
};

}  // namespace

Results measure(const Options& options, Rank& rank) {
  return Measurement(options, rank).run();
}

}  // namespace autoccl::gpubench
