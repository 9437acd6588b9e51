// NCCL's types as the interposer sees them: opaque handles, and enums as ints of the same size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "edge/nccl/abi/common.h"

namespace autoccl::preload {

struct NcclComm;
using Comm = NcclComm*;
using Stream = void*;  // cudaStream_t, which is CUstream

/// Passed by value through the C interface: 128 bytes, in memory.
struct UniqueId {
  char bytes[128];
};
static_assert(sizeof(UniqueId) == 128);

inline constexpr int kSuccess = static_cast<int>(nccl::Result::kSuccess);
inline constexpr int kInternalError = static_cast<int>(nccl::Result::kInternalError);
inline constexpr int kRemoteError = static_cast<int>(nccl::Result::kRemoteError);
inline constexpr int kInProgress = static_cast<int>(nccl::Result::kInProgress);

/// ncclDataType_t is an index into this; 0 for a type that is not known here.
[[nodiscard]] constexpr size_t elementBytes(int dtype) noexcept {
  constexpr unsigned char kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return dtype >= 0 && static_cast<size_t>(dtype) < sizeof kBytes ? kBytes[dtype] : 0;
}

}  // namespace autoccl::preload
