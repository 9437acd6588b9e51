// What chunk NCCL may be given (tuner v6).
#pragma once

#include <cstddef>

#include "edge/nccl/pairs.h"

namespace autoccl::nccl {

/// The unit in which NCCL cuts a chunk of this protocol, in bytes.
[[nodiscard]] constexpr size_t chunkGrain(int proto) noexcept {
  constexpr size_t kGrain[kProtos] = {16, 1920, 512};
  return kGrain[proto];
}

/// The chunk to answer when `asked` is wanted and NCCL came with `own` (bytes): whole grains, never
/// below 4 KiB (NCCL divides by the number of grains), and for NVLS and CollNet never above NCCL's
/// own, since their slots are no larger than that. 0 asked: NCCL's own.
[[nodiscard]] constexpr size_t chunkFor(Pair pair, size_t asked, size_t own) noexcept {
  constexpr size_t kLeast = 4096;
  const size_t grain = chunkGrain(pair.proto);
  if (asked == 0) return own;
  const size_t least = (kLeast + grain - 1) / grain * grain;
  const size_t whole = asked / grain * grain;
  const size_t chunk = whole < least ? least : whole;
  return isSwitchBased(pair.algo) && chunk > own ? own : chunk;
}

}  // namespace autoccl::nccl
