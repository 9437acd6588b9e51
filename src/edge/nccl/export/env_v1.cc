// NCCL 2.28.7 and later. NCCL asks here for every variable; the answer is the environment's.
#include <cstdlib>

#include "edge/nccl/abi/env.h"
#include "edge/nccl/export/symbol.h"

namespace autoccl::nccl {
namespace {

Result init(uint8_t, uint8_t, uint8_t, const char*) noexcept {
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

AUTOCCL_PLUGIN_SYMBOL autoccl::nccl::EnvV1 ncclEnvPlugin_v1{
    "AutoCCL", autoccl::nccl::init, autoccl::nccl::finalize, autoccl::nccl::getEnv};
