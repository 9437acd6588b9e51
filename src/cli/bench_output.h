// What `autoccl bench` prints: nccl-tests' columns as the run goes on, JSON at its end.
#pragma once

#include <string>
#include <vector>

#include "bench/run.h"
#include "store/json.h"

namespace autoccl::cli {

/// The table for people. One line for each size and kind of buffer: size, count, type, redop, root
/// as nccl-tests has them, then a block (time, algbw, busbw, #wrong) for each of our own
/// contenders, then a column pair (time, ratio to the default) for each peer. Pure;
/// thread-compatible.
class BenchTable {
 public:
  explicit BenchTable(const bench::BenchPlan& plan);
  [[nodiscard]] std::string head(const std::string& machine) const;
  /// The lines of one point, with the head of a collective before its first.
  [[nodiscard]] std::string lines(const std::vector<bench::BenchRow>& rows);
  /// What the whole run comes to: geometric means, wrong elements, rows behind a peer.
  [[nodiscard]] std::string foot(const bench::BenchResult& result) const;

 private:
  [[nodiscard]] std::string columnHeads() const;
  [[nodiscard]] std::string line(const std::vector<bench::BenchRow>& rows, bool registered) const;

  const bench::BenchPlan& plan_;
  std::vector<std::string> own_;  // who, in order
  bool started_ = false;
  Collective last_ = Collective::kBarrier;
};

/// The contract of `autoccl bench --json` (docs/cli.md).
[[nodiscard]] Json benchDocument(const bench::BenchPlan& plan, const bench::BenchResult& result,
                                 const std::string& machine, const std::string& date);

/// Geometric mean over the rows of `who` of how much faster they are than `peer`; 0 where there is
/// none.
[[nodiscard]] double geometricRatio(const std::vector<bench::BenchRow>& rows,
                                    const std::string& who, bool registered,
                                    const std::string& peer);

}  // namespace autoccl::cli
