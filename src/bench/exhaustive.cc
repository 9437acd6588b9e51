#include "bench/exhaustive.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "bench/stats.h"
#include "model/config.h"

namespace autoccl::bench {
namespace {

constexpr uint32_t kQuickCalls = 5;
constexpr uint32_t kQuickMs = 30;
constexpr double kTimeoutS = 60;
constexpr size_t kFinalists = 24;
constexpr double kFinalistWithin = 1.6;  // times the fastest
constexpr int kFinalRounds = 5;
constexpr double kFinalRoundMs = 8;

using SubspaceKey = std::tuple<Algorithm, Protocol, Transport, uint8_t>;

/// The values of one parameter in each subspace, thinned.
template <class V>
class Axis {
 public:
  void see(const SubspaceKey& key, V value) { values_[key].insert(value); }
  void thin(V step) {
    for (auto& [key, all] : values_) {
      std::set<V> kept = {*all.begin()};
      for (const V v : all)
        if (v >= *kept.rbegin() * step) kept.insert(v);
      kept.insert(*all.rbegin());
      all = std::move(kept);
    }
  }
  [[nodiscard]] bool keeps(const SubspaceKey& key, V value) const {
    return values_.at(key).count(value) != 0;
  }

 private:
  std::map<SubspaceKey, std::set<V>> values_;
};

SubspaceKey keyOf(const Config& c) {
  return {c.algorithm, c.protocol, c.transport, c.extra};
}

GridPoint quickLook(const Exercise& e, Group& group, bool registered, const std::string& config) {
  Command command;
  command.collective = e.collective;
  command.bytes = e.bytes;
  command.load = e.load;
  command.registered = registered;
  command.warmups = 1;
  command.iterations = kQuickCalls;
  command.maxMs = kQuickMs;
  setText(command.config, config);
  const GroupReply reply = group.run(command, kTimeoutS);
  const bool asAsked = reply.error.empty() && parseConfig(reply.config) == parseConfig(config);
  return {config, asAsked ? reply.us : std::vector<double>{}};
}

void sortByMedian(std::vector<GridPoint>& points) {
  std::sort(points.begin(), points.end(),
            [](const GridPoint& a, const GridPoint& b) { return median(a.us) < median(b.us); });
}

}  // namespace

std::vector<std::string> thinned(const std::vector<std::string>& space, int channelStep,
                                 int chunkStep) {
  std::vector<Config> configs;
  Axis<int> channels, threads;
  Axis<int64_t> chunks;
  for (const std::string& line : space) {
    configs.push_back(parseConfig(line));
    const Config& c = configs.back();
    channels.see(keyOf(c), c.channels);
    threads.see(keyOf(c), c.threads);
    chunks.see(keyOf(c), c.chunk);
  }
  channels.thin(channelStep);
  threads.thin(channelStep);
  chunks.thin(chunkStep);
  std::vector<std::string> kept;
  for (size_t i = 0; i < configs.size(); ++i) {
    const SubspaceKey key = keyOf(configs[i]);
    if (channels.keeps(key, configs[i].channels) && threads.keeps(key, configs[i].threads) &&
        chunks.keeps(key, configs[i].chunk))
      kept.push_back(space[i]);
  }
  return kept;
}

std::vector<GridPoint> searchGrid(const Exercise& exercise, Group& group, bool registered,
                                  const std::vector<std::string>& configs) {
  std::vector<GridPoint> points;
  for (const std::string& config : configs) {
    GridPoint point = quickLook(exercise, group, registered, config);
    if (!point.us.empty()) points.push_back(std::move(point));
  }
  if (points.empty()) return points;
  sortByMedian(points);
  const double within = kFinalistWithin * median(points.front().us);
  std::vector<Contender> finalists;
  for (size_t i = 0; i < std::min(kFinalists, points.size()); ++i)
    if (median(points[i].us) <= within)
      finalists.push_back({"grid", &group, registered, points[i].config, false});
  Exercise again = exercise;
  again.check = false;
  again.rounds = kFinalRounds;
  again.roundMs = kFinalRoundMs;
  const std::vector<Series> series = measureInterleaved(again, finalists);
  for (size_t i = 0; i < series.size(); ++i)
    if (series[i].error.empty()) points[i].us = series[i].us;
  std::sort(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(finalists.size()),
            [](const GridPoint& a, const GridPoint& b) { return median(a.us) < median(b.us); });
  return points;
}

}  // namespace autoccl::bench
