// NCCL 2.21.
#include "edge/nccl/export/symbol.h"
#include "edge/nccl/tuner_calls.h"

namespace autoccl::nccl {
namespace {

Result init(size_t nRanks, size_t nNodes, Logger, void** context) noexcept {
  return beginTuner(2, 0, nRanks, nNodes, context);
}

Result getCollInfo(void* context, Func func, size_t nBytes, int, int, int pipeOps, int* algo,
                   int* proto, int* nChannels) noexcept {
  return answerPlainly(static_cast<CommContext*>(context), {func, nBytes, pipeOps}, algo, proto,
                       nChannels);
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::TunerV2 ncclTunerPlugin_v2{
    "AutoCCL", autoccl::nccl::init, autoccl::nccl::getCollInfo, autoccl::nccl::endTuner};
