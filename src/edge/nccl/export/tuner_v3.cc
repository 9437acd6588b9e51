// NCCL 2.22 and 2.23.
#include "edge/nccl/export/symbol.h"
#include "edge/nccl/tuner_calls.h"

namespace autoccl::nccl {
namespace {

Result init(size_t nRanks, size_t nNodes, Logger, void** context) noexcept {
  return beginTuner(3, 0, nRanks, nNodes, context);
}

Result getCollInfo(void* context, Func func, size_t nBytes, int pipeOps, CostRows costs, int nAlgos,
                   int nProtos, int* nChannels) noexcept {
  return answerInTable(context, {func, nBytes, pipeOps, costs, nAlgos, nProtos}, nChannels);
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::TunerV3 ncclTunerPlugin_v3{
    "AutoCCL", autoccl::nccl::init, autoccl::nccl::getCollInfo, autoccl::nccl::endTuner};
