// One face over the tuner plugin's interfaces v1 to v6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "edge/nccl/abi/tuner.h"

namespace autoccl::nccl_double {

using CostTable = float[nccl::kAlgos][nccl::kProtos];

/// What a tuner is asked.
struct TunerQuestion {
  nccl::Func func = nccl::kFuncAllReduce;
  size_t nBytes = 0;
  int pipeOps = 0;
  int registered = 0;
  int nvls = 0, collnet = 0;  // for v1 and v2, which see no table
};

/// A plugin object as NCCL holds it, one per process; `context` is per communicator.
class Tuner {
 public:
  virtual ~Tuner() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  virtual nccl::Result init(void** context, uint64_t commId, size_t nRanks, size_t nNodes) = 0;
  /// Fills the table, or, with v1 and v2 on releases without a table, *algo and *proto.
  virtual nccl::Result getCollInfo(void* context, const TunerQuestion& question, CostTable& table,
                                   int nAlgos, int* algo, int* proto, int* nChannels) = 0;
  /// v6; earlier ones leave the chunk alone.
  virtual nccl::Result getChunkSize(void* context, nccl::Func func, size_t nBytes, int algo,
                                    int proto, int nChannels, size_t* chunk) = 0;
  virtual nccl::Result finalize(void* context) = 0;
};

/// The process's tuner for one more communicator: loads it at the first, and after the communicator
/// that loaded it has gone. Null: none; a failed load is final. *loaded: this call loaded it.
[[nodiscard]] Tuner* acquireTuner(bool* loaded);
/// A communicator ends. Only the one that loaded the plugin counts down and may close it, even
/// while others use it: NCCL's behaviour, which a plugin has to survive.
void releaseTuner(bool loaded);

/// Looks for the interfaces of this release in a library, newest first.
[[nodiscard]] std::unique_ptr<Tuner> tunerIn(void* library);

}  // namespace autoccl::nccl_double
