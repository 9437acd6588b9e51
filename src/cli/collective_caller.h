// Calls of the public API by the collective's name, on buffers of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autoccl/autoccl.h"
#include "model/types.h"

namespace autoccl::cli {

/// The library's sentence as Error, unless the call succeeded.
void needSuccess(acclResult_t result, acclComm_t comm);

/// Collectives that a caller can call.
[[nodiscard]] std::vector<Collective> sweepCollectives();

/// One rank's calls of float32 sum, root 0, on the NULL stream. The communicator is the owner's.
/// Thread-compatible; every rank of a communicator needs its own.
class CollectiveCaller {
 public:
  /// Buffers for calls up to maxBytes (nBytes as NCCL counts them), from acclMemAlloc or ordinary.
  CollectiveCaller(acclComm_t comm, uint64_t maxBytes, bool registered);
  /// Throws Error with the library's sentence where it fails.
  void call(Collective collective, uint64_t bytes);

 private:
  class Memory {
   public:
    Memory(size_t bytes, bool registered);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    [[nodiscard]] void* get() const { return memory_; }

   private:
    bool registered_;
    void* memory_ = nullptr;
  };
  acclComm_t comm_;
  int nRanks_ = 1;
  std::unique_ptr<Memory> send_, receive_;
};

}  // namespace autoccl::cli
