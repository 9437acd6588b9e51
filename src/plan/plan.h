// Step plans: who sends which blocks to whom, in what order. Pure arithmetic over ranks and blocks;
// sizes come later (blocks.h), so one plan serves every message size.
#pragma once

#include <cstdint>
#include <vector>

namespace autoccl {

/// Blocks first … first + count - 1 of the plan's logical buffer. An empty range: nothing.
struct BlockRange {
  int first = 0;
  int count = 0;
  friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

/// What becomes of received blocks.
enum class RecvOp : uint8_t {
  kNone,
  kCopy,
  kReduce,     // combined with what this rank holds of them
  kReduceLast  // the same, and now every rank's part is in: averages divide here
};

/// One step of one rank: send, and at the same time receive. What is sent must not depend on what
/// the same step receives. A step from a rank to itself copies a block from its send buffer to its
/// receive buffer and is no communication.
struct Step {
  int sendTo = 0;
  BlockRange send;
  int recvFrom = 0;
  BlockRange recv;
  RecvOp op = RecvOp::kNone;
};

/// Steps in their order. Flows of one rank are independent: none reads what another received, so
/// they may run interleaved in any way. Messages of different rails never share a queue.
struct Flow {
  int rail = 0;
  std::vector<Step> steps;
};

/// One rank's part in a collective. A pipelined engine runs the whole plan once for every slice of
/// the blocks, without waiting in between.
struct Plan {
  int nBlocks = 1;
  int rails = 1;
  std::vector<Flow> flows;
};

/// Whose plan: rank `me` of `n`; `root` counts for rooted collectives only.
struct Seat {
  int me = 0;
  int n = 1;
  int root = 0;
};

/// i modulo n in 0..n-1, for i >= -n.
[[nodiscard]] constexpr int mod(int i, int n) noexcept {
  return (i % n + n) % n;
}

/// The step that takes a rank's own block to its place.
[[nodiscard]] constexpr Step keep(int me, BlockRange blocks) noexcept {
  return {me, blocks, me, blocks, RecvOp::kCopy};
}

}  // namespace autoccl
