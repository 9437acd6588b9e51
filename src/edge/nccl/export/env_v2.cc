// NCCL 2.30.7 and later. NCCL asks here for every variable; the answer is the environment's.
#include <cstdlib>

#include "edge/nccl/abi/env.h"
#include "edge/nccl/export/symbol.h"

namespace autoccl::nccl {
namespace {

Result init(uint8_t, uint8_t, uint8_t, const char*, Logger) noexcept {
  return Result::kSuccess;
}

Result finalize() noexcept {
  return Result::kSuccess;
}

const char* getEnv(const char* name) noexcept {
  return name == nullptr ? nullptr : std::getenv(name);
}

}  // namespace
}  // namespace autoccl::nccl

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::EnvV2 ncclEnvPlugin_v2{
    "AutoCCL", autoccl::nccl::init, autoccl::nccl::finalize, autoccl::nccl::getEnv};
