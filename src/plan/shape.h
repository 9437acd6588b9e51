// What one call moves: the arguments of a collective without its addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/types.h"

namespace autoccl {

/// One rank's arguments of AllToAllv, in elements; each array has nRanks entries.
struct AllToAllvRow {
  const size_t* sendCounts = nullptr;
  const size_t* sendDispls = nullptr;
  const size_t* recvCounts = nullptr;
  const size_t* recvDispls = nullptr;
};

/// A call as plans and tiles see it. Equal on all ranks, except where a row says otherwise.
/// Offsets that follow from it are relative to each rank's send and receive pointer, so a call in
/// place needs nothing special: there a destination is also a source of the same tile.
struct CallShape {
  Collective collective{};
  int nRanks = 1;
  int root = 0;  // rooted collectives; the sender of kSendRecv
  int peer = 0;  // the receiver of kSendRecv
  /// AllReduce, Reduce, Broadcast, SendRecv: the whole buffer. AllGather, ReduceScatter, AllToAll,
  /// Gather, Scatter: the block of one rank. Unused by the uneven forms.
  uint64_t bytes = 0;
  size_t elementBytes = 1;  // also the smallest unit of a split

  const size_t* counts = nullptr;  // AllGatherv, ReduceScatterv: elements of each rank's block
  const size_t* displs = nullptr;  // AllGatherv: where each block lies in every receive buffer
  /// AllToAllv: nRanks rows. Whoever moves data between two ranks needs the rows of both; a step
  /// plan needs only its own rank's row.
  const AllToAllvRow* rows = nullptr;
};

[[nodiscard]] inline bool uneven(Collective c) noexcept {
  return c == Collective::kAllToAllv || c == Collective::kAllGatherv ||
         c == Collective::kReduceScatterv;
}

}  // namespace autoccl
