// The tuner plugin's interfaces, v1 to v6, as NCCL 2.19 to 2.32 look them up.
// A plugin exports one data symbol per version, "ncclTunerPlugin_v<N>"; NCCL takes the newest it
// knows. nBytes: element size x larger of send and receive count (AllGather and ReduceScatter: the
// total over ranks). pipeOps: collectives of the group over channels, rounded up.
#pragma once

#include "edge/nccl/abi/common.h"

namespace autoccl::nccl {

/// Cost table: declared float**, passed as contiguous float[nAlgos][nProtos] of microseconds.
using CostRows = float**;

/// NCCL 2.19 and 2.20. One per process: no context. Found only by NCCL_TUNER_PLUGIN.
/// The answer is not checked by NCCL: algo and proto are set both or not at all.
struct TunerV1 {
  const char* name;
  Result (*init)(size_t nRanks, size_t nNodes, Logger logger);
  Result (*getCollInfo)(Func func, size_t nBytes, int collnetSupport, int nvlsSupport, int pipeOps,
                        int* algo, int* proto, int* nChannels);
  Result (*destroy)();
};
static_assert(sizeof(TunerV1) == 32);

/// NCCL 2.21, and as a fallback of all later ones (there the pair must be in the cost table).
struct TunerV2 {
  const char* name;
  Result (*init)(size_t nRanks, size_t nNodes, Logger logger, void** context);
  Result (*getCollInfo)(void* context, Func func, size_t nBytes, int collnetSupport,
                        int nvlsSupport, int pipeOps, int* algo, int* proto, int* nChannels);
  Result (*destroy)(void* context);
};
static_assert(sizeof(TunerV2) == 32);

/// NCCL 2.22 and 2.23: the cost table. nChannels is 0 at entry; 0 keeps NCCL's number.
struct TunerV3 {
  const char* name;
  Result (*init)(size_t nRanks, size_t nNodes, Logger logger, void** context);
  Result (*getCollInfo)(void* context, Func func, size_t nBytes, int pipeOps, CostRows costs,
                        int nAlgos, int nProtos, int* nChannels);
  Result (*destroy)(void* context);
};
static_assert(sizeof(TunerV3) == 32);

/// NCCL 2.24 to 2.27: regBuff, whether this rank's buffers are registered. It may differ by rank.
struct TunerV4 {
  const char* name;
  Result (*init)(size_t nRanks, size_t nNodes, Logger logger, void** context);
  Result (*getCollInfo)(void* context, Func func, size_t nBytes, int pipeOps, CostRows costs,
                        int nAlgos, int nProtos, int regBuff, int* nChannels);
  Result (*destroy)(void* context);
};
static_assert(sizeof(TunerV4) == 32);

/// NVLink domains of the communicator (v5+).
struct NvlDomains {
  int nDomains;
  int minRanks;  // of one domain
  int maxRanks;
};
static_assert(sizeof(NvlDomains) == 12);

/// Constants of NCCL's cost model (v5+): us and GB/s. Links: NVLink, PCI, network; generations:
/// Volta, Ampere, Hopper, Blackwell; scales: 1, 2, 4 and more nodes.
struct ModelConstants {
  static constexpr int kLinks = 3, kGenerations = 4, kScales = 3;
  double baseLatencyUs[kAlgos][kProtos];
  double linkLatencyUs[kLinks][kAlgos][kProtos];
  double llMaxGBps[kGenerations][kScales];
  double ringLL128GBps[kGenerations][kScales];  // per channel, as the next three
  double treeLL128GBps[kGenerations][kScales];
  double treeGBps[kGenerations][kScales];
  double nvlsTreeGBps[kGenerations][kScales];
};
static_assert(sizeof(ModelConstants) == 8 * (21 + 63 + 5 * 12));
static_assert(offsetof(ModelConstants, llMaxGBps) == 8 * 84);

/// NCCL 2.28 and 2.29 (and 2.30 up to .2): the communicator's id, equal on all ranks.
struct TunerV5 {
  const char* name;
  Result (*init)(void** context, uint64_t commId, size_t nRanks, size_t nNodes, Logger logger,
                 NvlDomains* domains, ModelConstants* constants);
  Result (*getCollInfo)(void* context, Func func, size_t nBytes, int pipeOps, CostRows costs,
                        int nAlgos, int nProtos, int regBuff, int* nChannels);
  Result (*finalize)(void* context);
};
static_assert(sizeof(TunerV5) == 32);

/// NCCL 2.30.3 and later: the chunk. chunkSize comes with NCCL's value in bytes, is clamped above
/// and rounded down to the protocol's grain, and below one grain divides by zero. The function may
/// be null. It is called up to three times per collective, with nChannels 1 and a part of nBytes.
struct TunerV6 {
  const char* name;
  Result (*init)(void** context, uint64_t commId, size_t nRanks, size_t nNodes, Logger logger,
                 NvlDomains* domains, ModelConstants* constants);
  Result (*getCollInfo)(void* context, Func func, size_t nBytes, int pipeOps, CostRows costs,
                        int nAlgos, int nProtos, int regBuff, int* nChannels);
  Result (*finalize)(void* context);
  Result (*getChunkSize)(void* context, Func func, size_t nBytes, int algo, int proto,
                         int nChannels, size_t* chunkSize);
};
static_assert(sizeof(TunerV6) == 40);
static_assert(offsetof(TunerV6, getChunkSize) == 32);

}  // namespace autoccl::nccl
