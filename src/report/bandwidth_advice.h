// What a table of bandwidths says: wrong results, dips and cliffs, what small messages lose, and
// why more ranks are slower. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "store/nccl/bench_table.h"

namespace autoccl {

/// t = alpha + bytes/bandwidth through a table's times. halfBytes = alpha x bandwidth.
struct TableFit {
  double alphaUs = 0, GBps = 0, halfBytes = 0;
  [[nodiscard]] double us(double bytes) const { return alphaUs + bytes / GBps / 1000; }
};
/// By least squares of relative errors; nothing for fewer than three sizes, or where times do not
/// grow.
[[nodiscard]] std::optional<TableFit> fitOf(const nccl::BenchTable& table);

struct BandwidthQuestion {
  double limitGBps = 0;       // of the path, as bus bandwidth; 0: unknown
  double enough = 0.7;        // share of the limit
  uint64_t messageBytes = 0;  // what the program sends at once; 0: unknown
  std::string candidates;     // what to try next, with predicted times; may be empty
};

/// Findings of one table, each with the line of its row.
[[nodiscard]] std::vector<Finding> tableFindings(const nccl::BenchTable& table,
                                                 const BandwidthQuestion& question);

/// Why the larger of two jobs is slower: at the largest size that both have, what a ring of each
/// moves and in how many steps, which level's bandwidth fell, and what groups inside a host or two
/// dimensions would take. Nothing where it is not slower, or ranks are unknown.
[[nodiscard]] std::optional<Finding> scalingFinding(const nccl::BenchTable& a,
                                                    const nccl::BenchTable& b);

}  // namespace autoccl
