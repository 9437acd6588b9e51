// Figures that follow from a record's times, and what contradicts what among them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/run_record.h"

namespace autoccl {

/// GB/s (10^9 bytes a second) of one call: nBytes/time, and that times the collective's bus factor.
struct Rates {
  double algbw = 0, busbw = 0;
};
[[nodiscard]] Rates ratesOf(const Task& task, double us);

/// Hockney's line t = alpha + bytes/bandwidth through one algorithm's best times by size.
/// halfBytes is the size at which half of the bandwidth is reached: alpha x bandwidth.
struct LatencyFit {
  Collective collective{};
  Algorithm algorithm{};
  int nRanks = 0;
  int sizes = 0;  // points of the fit, at least 2
  double alphaUs = 0;
  double bandwidthGBps = 0;  // 0: the times do not grow with the size
  double halfBytes = 0;
  double residual = 0;  // root mean square of the relative errors
};

/// One fit for each (collective, algorithm, ranks) that was measured at two sizes or more.
/// Least squares of relative errors; alpha is kept from below 0.
/// Source: Hockney, Parallel Computing 20 (1994) 389-398.
[[nodiscard]] std::vector<LatencyFit> latencyFits(const RunRecord& record);

/// Sentences about figures of the record that cannot all be right, or that a person should look at:
/// gains outside their interval, steps that got longer while collectives got faster, costs above
/// the budget, dips and falling times along the sizes. Each names the task.
[[nodiscard]] std::vector<std::string> contradictions(const RunRecord& record);

}  // namespace autoccl
