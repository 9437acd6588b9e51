// A gate whose answers a test writes.
#pragma once

#include <mutex>
#include <vector>

#include "model/gate.h"

namespace autoccl::nccl::testing {

class ScriptGate final : public CallGate {
 public:
  Config answer = kUntouched;
  bool broken = false;
  bool lastCalm = false;
  uint64_t taken = 0;
  Task lastTask;

  Ticket take(const Task& task, const Config&) noexcept override {
    lastTask = task;
    return {0, taken++, false};
  }
  TaskStage stage = TaskStage::kTrial;

  bool resolve(Ticket ticket, Config& config, TaskStage& told) noexcept override {
    told = stage;
    return resolve(ticket, config);
  }
  bool resolve(Ticket ticket, Config& config) noexcept override {
    lastCalm = ticket.calm;
    if (broken) return false;
    config = answer;
    return true;
  }
  void report(const CallRecord& record) noexcept override {
    const std::lock_guard lock(mutex_);
    if (records_.size() < records_.capacity()) records_.push_back(record);
  }
  [[nodiscard]] std::vector<CallRecord> records() {
    const std::lock_guard lock(mutex_);
    return records_;
  }
  ScriptGate() { records_.reserve(4096); }

 private:
  std::mutex mutex_;
  std::vector<CallRecord> records_;
};

}  // namespace autoccl::nccl::testing
