// NCCL 2.24 to 2.27. regBuff may differ over ranks, so it decides nothing, here and later.
#include "edge/nccl/export/symbol.h"
#include "edge/nccl/tuner_calls.h"

namespace autoccl::nccl {
namespace {

Result init(size_t nRanks, size_t nNodes, Logger, void** context) noexcept {
  return beginTuner(4, 0, nRanks, nNodes, context);
}

Result getCollInfo(void* context, Func func, size_t nBytes, int pipeOps, CostRows costs, int nAlgos,
                   int nProtos, int, int* nChannels) noexcept {
  return answerInTable(context, {func, nBytes, pipeOps, costs, nAlgos, nProtos}, nChannels);
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::TunerV4 ncclTunerPlugin_v4{
    "AutoCCL", autoccl::nccl::init, autoccl::nccl::getCollInfo, autoccl::nccl::endTuner};
