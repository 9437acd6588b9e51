// NCCL 2.24 and 2.25: no GPU stamps, so no events.
#include "edge/nccl/export/symbol.h"
#include "edge/nccl/profiler_calls.h"

namespace autoccl::nccl {
namespace {

Result start(void*, void** handle, EventV2*) noexcept {
  if (handle != nullptr) *handle = nullptr;
  return Result::kSuccess;
}

Result record(void*, EventState, StateArgsV1*) noexcept {
  return Result::kSuccess;
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::ProfilerV2 ncclProfiler_v2{"AutoCCL",
                                                                autoccl::nccl::refuseEvents,
                                                                autoccl::nccl::start,
                                                                autoccl::nccl::ignoreStop,
                                                                autoccl::nccl::record,
                                                                autoccl::nccl::ignoreStop};
