// The threads behind a rank's lanes.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "engine/layout.h"

namespace autoccl {

/// Runs one function on the caller and on w-1 helpers, at most kMaxWorkers together. Helpers are
/// started when a call first wants them, pinned inside the CPU set that the creating thread was
/// allowed, and sleep in the kernel between calls. One run at a time. Costs nothing for w = 1; else
/// a wake-up per helper and call. If the system gives no more threads, the caller does the missing
/// workers' shares after its own (shares never wait for each other inside a rank).
class WorkerPool {
 public:
  using Function = void (*)(void* context, int worker) noexcept;
  /// `firstCpu`: which of the allowed CPUs is the caller's; helpers take the following ones.
  explicit WorkerPool(int firstCpu) : firstCpu_(firstCpu) {}
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void run(int workers, Function function, void* context) noexcept;
  /// Starts the helpers that a run with so many workers wants, if they are not there yet.
  void prepare(int workers) noexcept;

 private:
  struct alignas(64) Helper {
    std::atomic<uint32_t> go{0};
    std::thread thread;
  };
  void serve(Helper& self, int worker) noexcept;

  const int firstCpu_;
  int nHelpers_ = 0;
  std::array<std::unique_ptr<Helper>, kMaxWorkers> helpers_;
  // Written by the caller before a helper's `go` moves, read by the helper after.
  Function function_ = nullptr;
  void* context_ = nullptr;
  bool stop_ = false;
  alignas(64) std::atomic<uint32_t> left_{0};
};

}  // namespace autoccl
