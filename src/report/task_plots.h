// Plots of one task's search and of one collective's sizes.
#pragma once

#include <string>
#include <vector>

#include "store/run_record.h"

namespace autoccl {

/// Tasks that differ in their size alone, ascending; the ones with the most time first.
struct SizeLine {
  std::string name;  // "allreduce float32 sum x2"
  std::vector<const TaskRecord*> tasks;
};
[[nodiscard]] std::vector<SizeLine> sizeLines(const RunRecord& record);

/// Default and tuned against the size: time, then busbw.
[[nodiscard]] std::vector<std::string> sizePlots(const SizeLine& line);

/// Convergence over calls; the paths over NC, NT and C below each other.
[[nodiscard]] std::vector<std::string> searchPlots(const TaskRecord& task);

/// Step time before and after; compute and exposed communication by step.
[[nodiscard]] std::vector<std::string> stepPlots(const RunRecord& record);

}  // namespace autoccl
