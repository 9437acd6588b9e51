// NCCL 2.30.3 and later; 2.32 falls back to it.
#include "edge/nccl/export/symbol.h"
#include "edge/nccl/tuner_calls.h"

namespace autoccl::nccl {
namespace {

Result init(void** context, uint64_t commId, size_t nRanks, size_t nNodes, Logger, NvlDomains*,
            ModelConstants*) noexcept {
  return beginTuner(6, commId, nRanks, nNodes, context);
}

Result getCollInfo(void* context, Func func, size_t nBytes, int pipeOps, CostRows costs, int nAlgos,
                   int nProtos, int, int* nChannels) noexcept {
  return answerInTable(context, {func, nBytes, pipeOps, costs, nAlgos, nProtos}, nChannels);
}

Result getChunkSize(void* context, Func func, size_t, int algo, int proto, int,
                    size_t* chunkSize) noexcept {
  if (context != nullptr) static_cast<CommContext*>(context)->chunk(func, {algo, proto}, chunkSize);
  return Result::kSuccess;
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::TunerV6 ncclTunerPlugin_v6{
    "AutoCCL", autoccl::nccl::init, autoccl::nccl::getCollInfo, autoccl::nccl::endTuner,
    autoccl::nccl::getChunkSize};
