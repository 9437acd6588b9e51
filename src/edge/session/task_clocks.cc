#include "edge/session/task_clocks.h"

#include <utility>

#include "tune/statistics.h"

namespace autoccl {

void TaskClocks::put(int rank, const CallSample& sample) {
  const bool stream = sample.clock == CallClock::kStream;
  if (onStreams_ && sample.clock != CallClock::kEngine &&
      (tasks_.size() < kTasks || tasks_.contains(sample.taskKey))) {
    PerTask& task = tasks_[sample.taskKey];
    if (task.choice == Choice::kNone) {
      task.choice = Choice::kStream;
      for (const TimedCall& call : std::exchange(task.held, {})) keep(task, call);
    }
  }
  joiners_[stream ? 1 : 0].put(rank, sample);
}

std::vector<TimedCall> TaskClocks::take() {
  for (const TimedCall& call : joiners_[0].take()) onEngine(call);
  for (const TimedCall& call : joiners_[1].take())
    if (onStream(call.taskKey)) ready_.push_back(call);
  return std::exchange(ready_, {});
}

void TaskClocks::onEngine(const TimedCall& call) {
  if (!onStreams_) return ready_.push_back(call);
  if (tasks_.size() >= kTasks && !tasks_.contains(call.taskKey)) return;
  PerTask& task = tasks_[call.taskKey];
  if (task.choice == Choice::kStream) return keep(task, call);
  if (task.choice == Choice::kEngine) return ready_.push_back(call);
  task.held.push_back(call);
  if (task.held.size() < kEngineOnly) return;
  task.choice = Choice::kEngine;
  for (const TimedCall& held : std::exchange(task.held, {})) ready_.push_back(held);
}

void TaskClocks::keep(PerTask& task, const TimedCall& call) {
  if (call.failed || (task.beside.size() >= kConfigs && !task.beside.contains(call.inEffect)))
    return;
  auto& us = task.beside[call.inEffect];
  us.push_back(call.us);
  if (us.size() > kKept) us.erase(us.begin());
}

bool TaskClocks::onStream(uint64_t taskKey) const {
  const auto at = tasks_.find(taskKey);
  return at != tasks_.end() && at->second.choice == Choice::kStream;
}

double TaskClocks::besideUs(uint64_t taskKey, const Config& config) const {
  const auto at = tasks_.find(taskKey);
  if (at == tasks_.end() || at->second.choice != Choice::kStream) return 0;
  const auto of = at->second.beside.find(config);
  return of == at->second.beside.end() ? 0 : median(of->second);
}

}  // namespace autoccl
