// Cost tables that a real NCCL gave its tuner, beside what our model says of the same machine.
#pragma once

#include <string>
#include <vector>

#include "sim/nccl_model.h"

namespace autoccl::cli {

/// One file (schema "autoccl-nccl-costs/1"): the machine as NCCL's log describes it and, per
/// collective and size, NCCL's estimate of each pair in microseconds, -1 where it has none.
struct RecordedCosts {
  struct Row {
    int function = 0;
    uint64_t bytes = 0;
    sim::NcclTimes us{};
  };
  std::string nccl, machine, date;
  sim::NcclCluster cluster;
  std::vector<Row> rows;
};

/// Throws Error "file:line: reason".
[[nodiscard]] RecordedCosts readRecordedCosts(const std::string& text, const std::string& fileName);

/// How far the model is from what was recorded.
struct CostError {
  int entries = 0;      // pairs compared
  int presence = 0;     // pairs that only one of the two has
  int choices = 0;      // rows
  int sameChoices = 0;  // rows with the same choice
  double largest = 0;   // relative error of an entry
  double median = 0;
};
[[nodiscard]] CostError compare(const RecordedCosts& costs);

}  // namespace autoccl::cli
