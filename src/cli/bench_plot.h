// The results of `autoccl bench` as pictures.
#pragma once

#include <string>

#include "bench/run.h"

namespace autoccl::cli {

/// One SVG document, plots below each other: for each collective the time by size of every
/// contender; for each task of an exhaustive search the response to chunk, channels and threads, a
/// line for each subspace, each point the best over the other parameters. Pure.
[[nodiscard]] std::string benchSvg(const bench::BenchResult& result);

}  // namespace autoccl::cli
