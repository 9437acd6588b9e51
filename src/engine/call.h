// One collective call as its user made it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/config.h"
#include "model/task.h"
#include "model/types.h"
#include "plan/shape.h"

namespace autoccl {

/// Arguments of a call, in NCCL's meaning of `count`: elements of the whole buffer for AllReduce,
/// Reduce and Broadcast, of one rank's part for the others. The uneven forms use the four arrays
/// (elements, one value per rank) instead; they must outlive the call. Owns nothing.
struct Call {
  Collective collective = Collective::kBarrier;
  DataType dtype = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  const void* send = nullptr;
  void* recv = nullptr;
  uint64_t count = 0;
  double scale = 1;                    // this rank's factor of kScaledSum
  const size_t* sendCounts = nullptr;  // kAllToAllv
  const size_t* sendDispls = nullptr;
  const size_t* recvCounts = nullptr;  // all uneven forms
  const size_t* recvDispls = nullptr;  // kAllGatherv, kAllToAllv
};

/// Bytes that rank `rank` reads from its send buffer and writes into its receive buffer, counted
/// from the buffer's start (gaps of displacements included). 0 where a rank's buffer is not used.
[[nodiscard]] uint64_t sendExtent(const Call& call, int rank, int nRanks) noexcept;
[[nodiscard]] uint64_t recvExtent(const Call& call, int rank, int nRanks) noexcept;

/// nBytes as NCCL counts it: element size x larger of total send and receive count. Equal on all
/// ranks: for kAllToAllv, whose totals differ by rank, it is 0 (one class for all).
[[nodiscard]] uint64_t nBytesOf(const Call& call, int nRanks) noexcept;

/// The call without its addresses. kAllToAllv still needs the rows of all ranks.
[[nodiscard]] CallShape shapeOf(const Call& call, int nRanks) noexcept;

/// Hash of a call's arguments as far as all ranks must have them in common.
[[nodiscard]] uint64_t signatureOf(const Call& call, int nRanks) noexcept;

/// What all ranks must have in common in one call.
struct Terms {
  uint64_t signature = 0;
  Config config;

  friend bool operator==(const Terms&, const Terms&) = default;
};
[[nodiscard]] uint64_t hashOf(const Terms& terms) noexcept;

}  // namespace autoccl
