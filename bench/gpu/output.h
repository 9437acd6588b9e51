// Tables and JSON of a run.
#pragma once

#include "run.h"

namespace autoccl::gpubench {

/// nccl-tests' columns, a line for each contender, and what it makes of NCCL's time.
void printTables(const Results& results, const Options& options, int nRanks);
/// Throws Error when the file cannot be written.
void writeJson(const Results& results, const Options& options, int nRanks);

}  // namespace autoccl::gpubench
