// The environment plugin's interfaces: v1 (NCCL 2.28.7+) and v2 (2.30.7+), "ncclEnvPlugin_v<N>".
#pragma once

#include "edge/nccl/abi/common.h"

namespace autoccl::nccl {

/// NCCL reads all its variables through getEnv. What it returns must stay valid until the same name
/// is asked again or finalize; null: not set. NCCL_ENV_PLUGIN names the library.
struct EnvV1 {
  const char* name;
  Result (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix);
  Result (*finalize)();
  const char* (*getEnv)(const char* name);
};
static_assert(sizeof(EnvV1) == 32);

struct EnvV2 {
  const char* name;
  Result (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix, Logger logger);
  Result (*finalize)();
  const char* (*getEnv)(const char* name);
};
static_assert(sizeof(EnvV2) == 32);

}  // namespace autoccl::nccl
