// What the host hands to a kernel. Plain values, one struct a kernel, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "direct/kernels/both_sides.h"
#include "model/types.h"

namespace autoccl::direct {

inline constexpr uint32_t kMaxRanks = 16;
inline constexpr uint32_t kMaxBlocks = 128;

/// Flags at the start of an arena: one for each kind, block and peer. A peer's flag of mine lies in
/// my arena; the peer writes it, I read it. Values only grow: the call's epoch, with the number of
/// the chunk in the low bits where chunks are counted.
enum class FlagKind : uint32_t { kEntry, kFilled, kDrained, kFilled2, kDrained2, kExit };
inline constexpr uint32_t kFlagKinds = 6;
inline constexpr size_t kFlagBytes = size_t{kFlagKinds} * kMaxBlocks * kMaxRanks * sizeof(uint64_t);
inline constexpr uint32_t kChunkBits = 24;

ACCL_BOTH uint64_t tagOf(uint64_t epoch, uint64_t chunk) {
  return epoch << kChunkBits | chunk;
}

ACCL_BOTH bool hasBit(uint32_t bits, uint32_t at) {
  return (bits >> at & 1u) != 0;
}

/// A rank's view of its group: constant while the group lives.
struct Members {
  uint32_t rank = 0;
  uint32_t nRanks = 1;
  char* arenas[kMaxRanks] = {};  // of all ranks, as they are mapped here
  const uint32_t* stop = nullptr;

  [[nodiscard]] ACCL_BOTH uint64_t* flag(uint32_t owner, FlagKind kind, uint32_t block,
                                         uint32_t from) const {
    const size_t at = (static_cast<size_t>(kind) * kMaxBlocks + block) * kMaxRanks + from;
    return reinterpret_cast<uint64_t*>(arenas[owner]) + at;
  }
  /// A rank's place among the n-1 peers of `owner`.
  [[nodiscard]] ACCL_BOTH static uint32_t seat(uint32_t owner, uint32_t rank) {
    return rank < owner ? rank : rank - 1;
  }
};

/// What a call does, in terms of pieces: rank r sends each peer p a piece of `bytes` and gets one
/// from each. Reducing: the pieces and its own are combined in rank order into `recv`. Moving: the
/// piece of rank s goes to recv + s * recvStride.
struct Exchange {
  Members members;
  const char* send = nullptr;
  char* recv = nullptr;
  uint64_t bytes = 0;
  uint64_t sendStride = 0;  // the piece for p lies at send + p * sendStride
  uint64_t recvStride = 0;
  uint32_t sendTo = 0;       // bits of the peers that get a piece
  uint32_t receiveFrom = 0;  // bits of the peers that give one
  bool ownPiece = true;      // this rank's own piece belongs to its result
  ReduceOp op = ReduceOp::kSum;
  bool aligned = false;  // every piece begins at 16 bytes
  double scale = 1;      // of this rank's values, for scaledsum
};

/// Protocols LL and LL128. The two halves of the line region are used by turns: a rank that sends
/// in one call has, in the call before, heard of all peers in it, so they are done with this half.
struct LinesCall {
  Exchange exchange;
  uint64_t half = 0;   // offset in the arena
  uint64_t reach = 0;  // bytes of lines for each peer in a half
  uint32_t flag = 0;   // of this call; never 0
};

/// Protocol Simple, staged. Slots: for each peer, block and turn one chunk. Entry: a rank writes
/// into a peer's slots once that peer has begun this call, hence done with the one before.
struct StagedCall {
  Exchange exchange;
  uint64_t epoch = 0;
  uint64_t slots = 0;        // offset in the arena
  uint64_t secondSlots = 0;  // of the two-shot's second half
  uint32_t chunk = 0;        // bytes, a multiple of 16
  uint32_t depth = 2;        // slots for each peer and block
  uint64_t slice = 0;        // two-shot: the part of the buffer that a rank reduces
};

/// Protocol Zero, and the local reduction after copy engines: no staging.
/// Combining: all sources into one value for all targets. Moving with `paired`: source i to target
/// i; else source 0 to all targets.
struct DirectCall {
  Members members;
  const char* sources[kMaxRanks] = {};
  char* targets[kMaxRanks] = {};
  uint32_t nSources = 0;
  uint32_t nTargets = 0;
  uint64_t bytes = 0;
  uint64_t epoch = 0;
  bool paired = false;
  bool barriers = true;  // false: everything is local
  bool aligned = false;
  ReduceOp op = ReduceOp::kSum;
  uint32_t nCombined = 1;  // ranks whose values meet: the divisor of avg
};

}  // namespace autoccl::direct
