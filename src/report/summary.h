// A run in a few lines: what `autoccl run` prints while a job runs and at its end.
#pragma once

#include <string>

#include "store/run_record.h"

namespace autoccl {

/// Largest number of tasks a summary shows; the JSON and the report have all.
inline constexpr size_t kSummaryTasks = 24;

/// The table of tasks, those with the most time first, then costs and gains. `width` as in
/// TextTable::text.
[[nodiscard]] std::string summaryText(const RunRecord& record, size_t width = 0);

/// One line while the job runs: seconds, calls and their rate since `before`, tasks converged, the
/// best confirmed gain. `before` may be an empty record.
[[nodiscard]] std::string progressText(const RunRecord& before, const RunRecord& now);

/// The task's state; of one in warm-up also what it waits for: "warm-up, 2 of 17 calls seen".
[[nodiscard]] std::string stateText(const TaskRecord& task);
/// By which clock the times of a task were taken, and what the other one showed.
[[nodiscard]] std::string clockText(const TaskRecord& t);

/// "1.45x (1.41-1.49)"; "1.00x" where the default stays; "-" where nothing was confirmed.
[[nodiscard]] std::string gainText(double gain, double low, double high, bool confirmed);

}  // namespace autoccl
