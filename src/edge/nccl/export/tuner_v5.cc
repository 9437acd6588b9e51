// NCCL 2.28 to 2.30.2.
#include "edge/nccl/export/symbol.h"
#include "edge/nccl/tuner_calls.h"

namespace autoccl::nccl {
namespace {

Result init(void** context, uint64_t commId, size_t nRanks, size_t nNodes, Logger, NvlDomains*,
            ModelConstants*) noexcept {
  return beginTuner(5, commId, nRanks, nNodes, context);
}

Result getCollInfo(void* context, Func func, size_t nBytes, int pipeOps, CostRows costs, int nAlgos,
                   int nProtos, int, int* nChannels) noexcept {
  return answerInTable(context, {func, nBytes, pipeOps, costs, nAlgos, nProtos}, nChannels);
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::TunerV5 ncclTunerPlugin_v5{
    "AutoCCL", autoccl::nccl::init, autoccl::nccl::getCollInfo, autoccl::nccl::endTuner};
