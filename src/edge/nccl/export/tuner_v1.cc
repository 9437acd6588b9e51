// NCCL 2.19 and 2.20. The interface has no context: only the interposer knows whose call it is.
#include "edge/nccl/contexts.h"
#include "edge/nccl/export/symbol.h"
#include "edge/nccl/guard.h"
#include "edge/nccl/plugin_side.h"
#include "edge/nccl/tuner_calls.h"

namespace autoccl::nccl {
namespace {

Result init(size_t, size_t, Logger) noexcept {
  announcePlugins();
  return Result::kSuccess;
}

Result getCollInfo(Func func, size_t nBytes, int, int, int pipeOps, int* algo, int* proto,
                   int* nChannels) noexcept {
  CommContext* context = nullptr;
  (void)guarded([&] { context = Contexts::ofProcess().ofCurrentCall(1); });
  return answerPlainly(context, {func, nBytes, pipeOps}, algo, proto, nChannels);
}

Result destroy() noexcept {
  return Result::kSuccess;
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::TunerV1 ncclTunerPlugin_v1{
    "AutoCCL", autoccl::nccl::init, autoccl::nccl::getCollInfo, autoccl::nccl::destroy};
