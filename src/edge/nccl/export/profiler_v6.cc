// NCCL 2.29 and 2.30.
#include "edge/nccl/export/symbol.h"
#include "edge/nccl/profiler_calls.h"

namespace autoccl::nccl {
namespace {

Result init(void** context, uint64_t commId, int* mask, const char*, int, int nRanks, int rank,
            Logger) noexcept {
  return beginProfiler(6, commId, nRanks, rank, context, mask);
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::ProfilerV6 ncclProfiler_v6{
    "AutoCCL",
    autoccl::nccl::init,
    autoccl::nccl::startEvent<autoccl::nccl::EventV6>,
    autoccl::nccl::ignoreStop,
    autoccl::nccl::recordStop,
    autoccl::nccl::endProfiler};
