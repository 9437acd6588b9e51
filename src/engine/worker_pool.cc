#include "engine/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <exception>

#include "transport/quiet_thread.h"
#include "transport/wait.h"

namespace autoccl {
namespace {

constexpr uint32_t kTurns = 4000;  // looks at the helpers' work before the caller sleeps

/// Puts the thread on the n-th CPU (counted around) of those it may use. Best effort.
void pinTo(pthread_t thread, int n) noexcept {
  cpu_set_t allowed;
  if (::pthread_getaffinity_np(thread, sizeof allowed, &allowed) != 0) return;
  const int count = CPU_COUNT(&allowed);
  if (count <= 1) return;
  int left = n % count;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || left-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::pthread_setaffinity_np(thread, sizeof one, &one);
    return;
  }
}

}  // namespace

WorkerPool::~WorkerPool() {
  stop_ = true;
  for (int i = 0; i < nHelpers_; ++i) {
    Helper& helper = *helpers_[static_cast<size_t>(i)];
    helper.go.fetch_add(1, std::memory_order_release);
    helper.go.notify_one();
    helper.thread.join();
  }
}

void WorkerPool::prepare(int workers) noexcept {
  try {
    for (; nHelpers_ < std::min(workers - 1, kMaxWorkers); ++nHelpers_) {
      auto helper = std::make_unique<Helper>();
      helper->thread = startQuietThread(
          "accl-lane",
          [this, self = helper.get(), worker = nHelpers_ + 1] { serve(*self, worker); });
      pinTo(helper->thread.native_handle(), firstCpu_ + nHelpers_ + 1);
      helpers_[static_cast<size_t>(nHelpers_)] = std::move(helper);
    }
  } catch (const std::exception&) {
    // No more threads: run() does their shares itself.
  }
}

void WorkerPool::serve(Helper& self, int worker) noexcept {
  for (uint32_t seen = 0;; ++seen) {
    self.go.wait(seen, std::memory_order_acquire);
    if (stop_) return;
    function_(context_, worker);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
  }
}

void WorkerPool::run(int workers, Function function, void* context) noexcept {
  prepare(workers);
  const int helpers = std::min(workers - 1, nHelpers_);
  if (helpers > 0) {
    function_ = function;
    context_ = context;
    left_.store(static_cast<uint32_t>(helpers), std::memory_order_relaxed);
    for (int i = 0; i < helpers; ++i) {
      helpers_[static_cast<size_t>(i)]->go.fetch_add(1, std::memory_order_release);
      helpers_[static_cast<size_t>(i)]->go.notify_one();
    }
  }
  function(context, 0);
  for (int w = helpers + 1; w < workers; ++w) function(context, w);
  if (helpers == 0) return;
  WaitRules rules;
  rules.policy = WaitPolicy::kYield;
  uint32_t turns = 0;
  for (uint32_t left = left_.load(std::memory_order_acquire); left != 0;
       left = left_.load(std::memory_order_acquire)) {
    if (turns < kTurns)
      (void)waitOnce(turns, rules);
    else
      left_.wait(left, std::memory_order_acquire);
  }
}

}  // namespace autoccl
