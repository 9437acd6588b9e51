// Where a plan's blocks lie in the user's buffers.
#pragma once

#include <cstdint>

#include "plan/plan.h"
#include "plan/shape.h"

namespace autoccl {

struct ByteRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Part i of `bytes` cut into `parts`: whole cache lines where that leaves each part a few, else
/// whole elements; the last parts may be shorter or empty.
[[nodiscard]] ByteRange part(uint64_t bytes, int i, int parts, size_t elementBytes) noexcept;

/// True if rank's receive buffer holds block b when the call is over.
[[nodiscard]] bool isOutput(Collective collective, Seat seat, int block) noexcept;

/// True if what was received may be sent on; false where every send reads the send buffer.
[[nodiscard]] inline bool forwards(Collective c) noexcept {
  return c != Collective::kAllToAll && c != Collective::kAllToAllv;
}

/// Block b of the plan in this rank's send buffer (source) and receive buffer (out). All ranks cut
/// alike. A block that a rank does not hold on a side has its true length there, and an offset
/// that means nothing (AllGather: source of others' blocks; ReduceScatter: out of others').
/// Pure; O(1), O(n) for ReduceScatterv.
class BlockMap {
 public:
  BlockMap(const CallShape& shape, int rank, int nBlocks) noexcept
      : shape_(shape), rank_(rank), nBlocks_(nBlocks) {}

  [[nodiscard]] ByteRange source(int block) const noexcept;
  [[nodiscard]] ByteRange out(int block) const noexcept;

 private:
  CallShape shape_;
  int rank_;
  int nBlocks_;
};

}  // namespace autoccl
