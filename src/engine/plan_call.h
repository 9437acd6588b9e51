// One call as the lanes of a step plan see it: program, geometry, buffers. Written by begin(), then
// read by all lanes.
#pragma once

#include <vector>

#include "model/config.h"
#include "plan/blocks.h"
#include "plan/fuse.h"
#include "plan/shape.h"
#include "transport/wire_set.h"

namespace autoccl {

/// What the engine knows of a call. Pointers are this rank's; those of `shape` and `peers` must
/// stay until the call is over.
struct PlanCall {
  CallShape shape;
  DataType dtype{};
  ReduceOp op{};
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  double scale = 1;                    // kScaledSum: this rank's factor
  const PeerBuffers* peers = nullptr;  // nRanks entries; for kZero and kCma only
};

/// How a call is cut. A block is split among NC channels; a channel's part is passed through in
/// rounds of roundBytes; in a round each of NT threads takes sliceBytes. A message is the slices of
/// its blocks one behind the other: at most C / NT bytes, or a line for each of its blocks if C is
/// smaller.
struct PlanCut {
  int channels = 1;
  int threads = 1;
  int rails = 1;
  uint64_t sliceBytes = 64;
  uint64_t roundBytes = 64;
  WireLayout layout;
};

struct PlanContext {
  int rank = 0;
  PlanCall call;
  PlanCut cut;
  WaitRules rules;
  const Program* program = nullptr;
  Wire* wire = nullptr;
  const Doorbells* bells = nullptr;
  uint64_t rounds = 0;
  std::vector<ByteRange> source;      // of each block, in the send buffer
  std::vector<ByteRange> out;         // in the receive buffer
  std::byte* accumulators = nullptr;  // a slice of every block, lane after lane
  std::byte* pulled = nullptr;        // three messages, lane after lane

  [[nodiscard]] Seat seat() const { return {rank, call.shape.nRanks, call.shape.root}; }
};

}  // namespace autoccl
