// NCCL 2.27: the first with GPU stamps.
#include "edge/nccl/export/symbol.h"
#include "edge/nccl/profiler_calls.h"

namespace autoccl::nccl {
namespace {

Result init(void** context, int* mask, const char*, uint64_t commHash, int, int nRanks, int rank,
            Logger) noexcept {
  return beginProfiler(4, commHash, nRanks, rank, context, mask);
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::ProfilerV4 ncclProfiler_v4{
    "AutoCCL",
    autoccl::nccl::init,
    autoccl::nccl::startEvent<autoccl::nccl::EventV4>,
    autoccl::nccl::ignoreStop,
    autoccl::nccl::recordStop,
    autoccl::nccl::endProfiler};
