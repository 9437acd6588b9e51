// Which of NCCL's events are wanted: the activation mask that all communicators of a process share.
#pragma once

#include <atomic>

#include "edge/nccl/abi/profiler_events.h"

namespace autoccl::nccl {

/// Events cost: pinned writes per channel, a polling thread, host nodes in graphs. So the mask is
/// raised while some communicator needs samples, and lowered when none does; NCCL reads it again
/// for every call. kEventCollApi stays where that is the only way to hear of graph capture, which
/// all ranks must know alike.
/// HOT, any thread: one counter, one store.
class Sampling {
 public:
  /// The word that NCCL gave to the profiler's init: one for the whole process.
  void attach(int* mask, int profilerVersion) noexcept;
  void want() noexcept;
  void unwant() noexcept;
  [[nodiscard]] bool attached() const noexcept {
    return mask_.load(std::memory_order_acquire) != nullptr;
  }

 private:
  void apply() noexcept;

  std::atomic<int*> mask_{nullptr};
  std::atomic<int> idle_{0};
  std::atomic<int> wanting_{0};
};

}  // namespace autoccl::nccl
