// A whole run of `autoccl bench`: groups, points, rows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/conductor.h"
#include "bench/stats.h"
#include "model/types.h"

namespace autoccl::bench {

/// A config of ours to be measured beside the default, at every point or at one.
struct Pin {
  std::string config;
  std::optional<Collective> collective;
  std::optional<uint64_t> bytes;
};

struct BenchPlan {
  int ranks = 2;
  std::vector<Collective> collectives;
  std::vector<uint64_t> sizes;     // nBytes as NCCL counts them
  std::vector<std::string> peers;  // names of peers.h
  std::vector<bool> registered = {true, false};
  std::vector<Pin> pins;
  LoadKind load = LoadKind::kNone;
  bool tuned = false;
  bool exhaustive = false;
  bool check = false;
  bool limits = true;
  int rounds = 7;
  double roundMs = 25;
  uint32_t tuneCalls = 1'000'000;  // at most, for one task
  double tuneSeconds = 20;         // at most, for one task
};

/// One line of the results: one contender at one point.
struct BenchRow {
  std::string who;  // "default", "tuned", "exhaustive", "pinned", or a peer's name
  bool own = true;
  Collective collective = Collective::kAllReduce;
  int ranks = 2;
  uint64_t bytes = 0;  // rounded down to whole elements for each rank
  bool registered = false;
  LoadKind load = LoadKind::kNone;
  std::string config;
  double medianUs = 0, p10Us = 0, p90Us = 0;
  size_t calls = 0;
  uint64_t wrong = 0;
  double loadGflops = 0;
  double limitUs = 0;  // of this host for this point; 0: not measured
  bool remeasured = false;
  std::string note;  // why there is no figure, or what a reader must know of it
  /// Time of another row of the same point over this row's, by that row's `who`: above 1, this one
  /// is faster. Own rows against every peer, and against the default with the same buffers.
  std::map<std::string, RatioInterval> ratios;

  [[nodiscard]] double algbwGBps() const;
  [[nodiscard]] double busbwGBps() const;
  [[nodiscard]] double shareOfLimit() const;  // 0: not measured
  /// Slower than some peer: the upper bound of peer/ours is below kBehind.
  [[nodiscard]] bool behind() const;
};
inline constexpr double kBehind = 0.95;

/// One config of the exhaustive search, measured quickly; the search confirms its best ones anew.
struct GridRow {
  Collective collective = Collective::kAllReduce;
  int ranks = 2;
  uint64_t bytes = 0;
  bool registered = false;
  std::string config;
  double medianUs = 0, p10Us = 0, p90Us = 0;
};

/// What a run says while it goes on.
struct Listener {
  std::function<void(const std::string&)> doing = [](const std::string&) {};
  std::function<void(const std::vector<BenchRow>&)> point = [](const std::vector<BenchRow>&) {};
};

struct BenchResult {
  std::vector<BenchRow> rows;
  std::vector<GridRow> grid;
  double handOverUs = 0;                // one way, cache line between two ranks; 0: not measured
  std::vector<std::string> startNotes;  // peers that could not be started, and why
};

/// Starts all groups, measures all points, ends the groups. A peer that fails loses its figures,
/// with a note; a failure of our own ranks throws Error.
[[nodiscard]] BenchResult runBench(const BenchPlan& plan, const Listener& listener);

}  // namespace autoccl::bench
