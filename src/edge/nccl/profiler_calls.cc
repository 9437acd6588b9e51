#include "edge/nccl/profiler_calls.h"

#include "edge/nccl/contexts.h"
#include "edge/nccl/guard.h"

namespace autoccl::nccl {

Result refuseEvents(void** context, int* mask) noexcept {
  if (context != nullptr) *context = nullptr;
  return guarded([&] { Contexts::ofProcess().sampling().attach(mask, 1); });
}

Result beginProfiler(int version, uint64_t commId, int nRanks, int rank, void** context,
                     int* mask) noexcept {
  if (context != nullptr) *context = nullptr;
  return guarded([&] {
    Origin origin;
    origin.commId = commId;
    origin.rank = rank;
    origin.nRanks = nRanks;
    origin.profilerVersion = version;
    Contexts& contexts = Contexts::ofProcess();
    contexts.sampling().attach(mask, version);
    CommContext* begun = contexts.beginProfiler(origin);
    if (context != nullptr) *context = begun;
  });
}

Result endProfiler(void* context) noexcept {
  if (context == nullptr) return Result::kSuccess;
  return guarded([&] { Contexts::ofProcess().end(static_cast<CommContext*>(context)); });
}

Result ignoreStop(void*) noexcept {
  return Result::kSuccess;
}

// HOT
Result recordStop(void* handle, EventState state, StateArgsV4* args) noexcept {
  if (state == kStateKernelChStop && args != nullptr && handle != kEagerCall &&
      handle != kCapturedCall)
    CommContext::stopped(handle, args->kernelCh.stopTimer);
  return Result::kSuccess;
}

}  // namespace autoccl::nccl
