// The compute that runs beside the calls: matrix product followed by a sigmoid, as a layer of a
// network does it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "bench/control.h"

namespace autoccl::bench {

/// Shapes, float32, one thread a core:
///   light  C = A B, 192 x 192 x 192 (0.4 MiB, stays in the core's cache), C = 1/(1+exp(-C)), then
///          a rest as long as the work took: about half of the core is free.
///   heavy  C = A B, 1024 x 1024 x 1024 (12 MiB, goes through shared cache and memory), same
///          sigmoid, no rest: the core is never free.
/// One thread is bound to each of `cores`; they compute from the constructor to the destructor.
class Load {
 public:
  Load(LoadKind kind, const std::vector<int>& cores);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  /// Floating point operations of all threads' products since the start, per second, in 10^9.
  [[nodiscard]] double gflops() const noexcept;

 private:
  void work(int core) noexcept;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> products_{0};
  int64_t startNs_ = 0;
  LoadKind kind_;
  std::vector<std::thread> threads_;
};

}  // namespace autoccl::bench
