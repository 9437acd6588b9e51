#include "tests/nccl_double/progress.h"

#include <chrono>
#include <cstdlib>

namespace autoccl::nccl_double {
namespace {

/// How long the poller sleeps between looks; a test makes it slow to see stamps overwritten.
std::chrono::microseconds pollPause() {
  const char* text = std::getenv("NCCL_DOUBLE_POLL_US");
  return std::chrono::microseconds(text != nullptr ? std::atoi(text) : 200);
}

}  // namespace

Progress::Progress(Profiler* profiler, void* context, int rank)
    : profiler_(profiler), context_(context), rank_(rank), thread_([this] { serve(); }) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  filled_.notify_all();
  thread_.join();
}

void Progress::append(void* coll, int channel, uint64_t work) {
  {
    const std::lock_guard lock(mutex_);
    ops_.push_back({coll, channel, work, false, nullptr});
  }
  filled_.notify_one();
}

void Progress::started(int channel, uint64_t work, uint64_t stampNs) noexcept {
  Slot& slot = starts_[static_cast<size_t>(channel)][work % kSlots];
  slot.stampNs.store(stampNs, std::memory_order_relaxed);
  slot.work.store(work, std::memory_order_release);
}

void Progress::stopped(int channel, uint64_t work, uint64_t stampNs) noexcept {
  Slot& slot = stops_[static_cast<size_t>(channel)][work % kSlots];
  slot.stampNs.store(stampNs, std::memory_order_relaxed);
  slot.work.store(work, std::memory_order_release);
}

/// True when the op has been told to the end.
bool Progress::advance(Op& op) {
  const auto channel = static_cast<size_t>(op.channel);
  const Slot& start = starts_[channel][op.work % kSlots];
  if (!op.begun) {
    if (start.work.load(std::memory_order_acquire) < op.work) return false;
    op.handle = profiler_->startKernelCh(context_, rank_, op.coll, op.channel,
                                         start.stampNs.load(std::memory_order_relaxed));
    op.begun = true;
    return false;  // other channels may begin first
  }
  const Slot& stop = stops_[channel][op.work % kSlots];
  if (stop.work.load(std::memory_order_acquire) < op.work) return false;
  if (op.handle != nullptr)
    profiler_->stopKernelCh(op.handle, stop.stampNs.load(std::memory_order_relaxed));
  return true;
}

void Progress::serve() {
  const auto pause = pollPause();
  std::list<Op> mine;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (mine.empty()) filled_.wait(lock, [&] { return stop_ || !ops_.empty(); });
      if (stop_) return;
      mine.splice(mine.end(), ops_);
    }
    mine.remove_if([this](Op& op) { return advance(op); });
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace autoccl::nccl_double
