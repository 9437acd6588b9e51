// The symbols that NCCL looks up.
#pragma once

#include "edge/nccl/abi/env.h"
#include "edge/nccl/abi/profiler.h"
#include "edge/nccl/abi/tuner.h"

extern autoccl::nccl::TunerV1 ncclTunerPlugin_v1;
extern autoccl::nccl::TunerV2 ncclTunerPlugin_v2;
extern autoccl::nccl::TunerV3 ncclTunerPlugin_v3;
extern autoccl::nccl::TunerV4 ncclTunerPlugin_v4;
extern autoccl::nccl::TunerV5 ncclTunerPlugin_v5;
extern autoccl::nccl::TunerV6 ncclTunerPlugin_v6;
extern autoccl::nccl::ProfilerV1 ncclProfiler_v1;
extern autoccl::nccl::ProfilerV2 ncclProfiler_v2;
extern autoccl::nccl::ProfilerV3 ncclProfiler_v3;
extern autoccl::nccl::ProfilerV4 ncclProfiler_v4;
extern autoccl::nccl::ProfilerV5 ncclProfiler_v5;
extern autoccl::nccl::ProfilerV6 ncclProfiler_v6;
extern autoccl::nccl::ProfilerV7 ncclProfiler_v7;
extern autoccl::nccl::EnvV1 ncclEnvPlugin_v1;
extern autoccl::nccl::EnvV2 ncclEnvPlugin_v2;
