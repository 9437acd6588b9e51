// What the thunks of the profiler versions have in common.
#pragma once

#include "edge/nccl/abi/profiler.h"
#include "edge/nccl/comm_context.h"

namespace autoccl::nccl {

/// v1 to v3: they carry no GPU stamps, so all events are switched off.
Result refuseEvents(void** context, int* mask) noexcept;
/// v4 to v7: a new communicator.
Result beginProfiler(int version, uint64_t commId, int nRanks, int rank, void** context,
                     int* mask) noexcept;
Result endProfiler(void* context) noexcept;
Result ignoreStop(void* handle) noexcept;
/// HOT, NCCL's progress thread: a channel has stopped.
Result recordStop(void* handle, EventState state, StateArgsV4* args) noexcept;

/// Handles of API events: they only say whether the call was captured.
inline void* const kEagerCall = reinterpret_cast<void*>(uintptr_t{1});
inline void* const kCapturedCall = reinterpret_cast<void*>(uintptr_t{2});

template <class Coll>
CollEvent eventOf(const Coll& coll) noexcept {
  return {funcNamed(coll.func), coll.count, elementBytes(coll.dtype), coll.nChannels,
          pairNamed(coll.algo, coll.proto)};
}

/// HOT. Kinds that are not ours get no handle.
template <class Event>
Result startEvent(void* context, void** handle, Event* event) noexcept {
  if (handle == nullptr) return Result::kSuccess;
  *handle = nullptr;
  if (context == nullptr || event == nullptr) return Result::kSuccess;
  auto& comm = *static_cast<CommContext*>(context);
  if constexpr (requires { event->collApi; }) {
    if (event->kind == kEventCollApi) {
      comm.setCapturing(event->collApi.graphCaptured);
      *handle = event->collApi.graphCaptured ? kCapturedCall : kEagerCall;
    }
  }
  if (event->kind == kEventColl && event->parent != kCapturedCall)
    *handle = comm.collStarted(eventOf(event->coll));
  if (event->kind == kEventKernelCh)
    *handle = StampJoin::channelStarted(event->parent, event->kernelCh.startTimer);
  return Result::kSuccess;
}

}  // namespace autoccl::nccl
