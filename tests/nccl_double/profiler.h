// One face over the profiler plugin's interfaces v1 to v7.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "edge/nccl/abi/profiler.h"

namespace autoccl::nccl_double {

/// A collective as its Coll event describes it; names as NCCL writes them.
struct CollReport {
  const char* commName = nullptr;
  uint64_t commHash = 0;
  uint64_t seq = 0;
  const char* func = nullptr;
  int funcNumber = 0;
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;
  int root = 0;
  const char* dtype = nullptr;
  int dtypeNumber = 0;
  size_t trafficBytes = 0;
  int nMaxChannels = 0, nChannels = 0, nWarps = 0;
  const char *algo = nullptr, *proto = nullptr;
  int algoNumber = 0, protoNumber = 0;
  void* parentGroup = nullptr;
  void* parentApi = nullptr;
  void* stream = nullptr;
  bool captured = false;
};

/// A profiler object as NCCL holds it, one per process; `context` is per communicator. Handles that
/// a plugin returns may be null.
class Profiler {
 public:
  struct Place {
    const char* commName = nullptr;
    uint64_t commHash = 0;
    int nNodes = 1, nRanks = 1, rank = 0;
  };
  virtual ~Profiler() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  virtual nccl::Result init(void** context, const Place& place) = 0;
  [[nodiscard]] virtual void* startGroupApi(void* context, int rank, bool captured) = 0;
  [[nodiscard]] virtual void* startCollApi(void* context, int rank, void* group,
                                           const CollReport& coll) = 0;
  [[nodiscard]] virtual void* startLaunch(void* context, int rank, void* group, void* stream) = 0;
  [[nodiscard]] virtual void* startGroup(void* context, int rank) = 0;
  [[nodiscard]] virtual void* startColl(void* context, int rank, const CollReport& coll) = 0;
  [[nodiscard]] virtual void* startKernelCh(void* context, int rank, void* coll, int channel,
                                            uint64_t startNs) = 0;
  virtual void stopKernelCh(void* handle, uint64_t stopNs) = 0;
  virtual void stop(void* handle) = 0;
  virtual void finalize(void* context) = 0;
};

/// The word that the plugin was given at init; read again for every operation.
[[nodiscard]] int profilerMask() noexcept;

/// startEvent calls so far.
[[nodiscard]] uint64_t profilerEvents() noexcept;

/// The process's profiler for one more communicator, or null; a failed load is final.
[[nodiscard]] Profiler* acquireProfiler();
void releaseProfiler();

}  // namespace autoccl::nccl_double
