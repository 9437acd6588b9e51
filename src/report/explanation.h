// Why this config: one task's story as text.
#pragma once

#include <string>
#include <vector>

#include "store/json.h"
#include "store/profile.h"
#include "store/run_record.h"

namespace autoccl {

/// The best median of each config that was tried, fastest first.
struct Candidate {
  Config config;
  double medianUs = 0;
  int samples = 0;
  std::string verdict;  // of its last trial
};
[[nodiscard]] std::vector<Candidate> candidates(const TaskRecord& task);

/// Default, winner, gain with interval, how it was decided, runner-ups, phases, cost, model.
[[nodiscard]] std::string explain(const TaskRecord& task);
/// A profile keeps no history: the same without runner-ups, phases and cost.
[[nodiscard]] std::string explain(const ProfileEntry& entry);
/// Every block of measured calls in the order tried.
[[nodiscard]] std::string historyText(const TaskRecord& task, size_t width);
[[nodiscard]] Json explanationJson(const TaskRecord& task);

/// Whether a user who wrote `query` may mean this task: every word of it is a word of the task's
/// text, case aside ("1M allreduce" fits "allreduce 1M float32 sum x2").
[[nodiscard]] bool fits(const Task& task, const std::string& query);

}  // namespace autoccl
