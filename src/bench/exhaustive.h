// The oracle: the best of all configs on a thinned grid.
#pragma once

#include <string>
#include <vector>

#include "bench/conductor.h"

namespace autoccl::bench {

/// Every subspace keeps its smallest and largest channels, threads and chunk, and of those between
/// the ones at least `channelStep` times (channels, threads) or `chunkStep` times (chunk) above the
/// last kept. Throws Error for a line that is no config.
[[nodiscard]] std::vector<std::string> thinned(const std::vector<std::string>& space,
                                               int channelStep = 2, int chunkStep = 4);

struct GridPoint {
  std::string config;
  std::vector<double> us;
};

/// Leaves out configs in whose place the library ran another. Measures all others once, then the
/// fastest ones in interleaved rounds, and returns all with the fastest first. Its figures chose
/// the winner and so flatter it: measure it anew before saying how fast it is.
[[nodiscard]] std::vector<GridPoint> searchGrid(const Exercise& exercise, Group& group,
                                                bool registered,
                                                const std::vector<std::string>& configs);

}  // namespace autoccl::bench
