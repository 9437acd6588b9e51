// Which of NCCL's events are wanted: the activation mask that all communicators of a process share.
#pragma once

#include <array>
#include <atomic>

#include "edge/nccl/abi/profiler_events.h"

namespace autoccl::nccl {

/// Whether channels' events carry the GPU's stamps.
[[nodiscard]] constexpr bool hasStamps(int profilerVersion) noexcept {
  return profilerVersion >= 4;
}

/// Whether a profiler of this version hears of every call that is captured into a graph: v5 and v6.
/// From v7 on NCCL's own RAS client may change the mask behind our back, on one rank before
/// another.
[[nodiscard]] constexpr bool tellsOfCapture(int profilerVersion) noexcept {
  return profilerVersion == 5 || profilerVersion == 6;
}

/// Events cost: pinned writes per channel, a polling thread, host nodes in graphs. So the mask is
/// raised while some communicator needs samples, and lowered when none does; NCCL reads it again
/// for every call. kEventCollApi stays while some communicator listens: where that is the only way
/// to know of graph capture, which all ranks must know alike.
/// HOT, any thread: one counter, one store.
class Sampling {
 public:
  /// The word that NCCL gave to the profiler's init: one for each NCCL library of the process, of
  /// which there are several only where variants need copies. Those beyond kMasks stay as they are.
  void attach(int* mask, int profilerVersion) noexcept;
  void want() noexcept;
  void unwant() noexcept;
  void listen() noexcept;
  void unlisten() noexcept;
  [[nodiscard]] bool attached() const noexcept {
    return masks_[0].load(std::memory_order_acquire) != nullptr;
  }

 private:
  static constexpr size_t kMasks = 16;

  void apply() noexcept;
  void applyTo(int* mask) noexcept;

  std::array<std::atomic<int*>, kMasks> masks_{};  // filled from the front
  std::atomic<int> wanting_{0};
  std::atomic<int> listening_{0};
};

}  // namespace autoccl::nccl
