// The report of a run: one HTML file with its plots inside, to be opened by anyone, anywhere.
#pragma once

#include <string>

#include "store/run_record.h"

namespace autoccl {

/// Tasks that get plots of their own; the tables have all.
inline constexpr size_t kReportTasks = 12;

/// Sections: figures at a glance, findings, default against tuned by size, steps, ranks, search by
/// task, fits, all tasks, how to read it. Text from the record is escaped. Size: some 100 KiB.
[[nodiscard]] std::string runReportHtml(const RunRecord& record);

}  // namespace autoccl
