// Double binary tree plans: logarithmic latency, and every rank's links busy when pipelined.
#pragma once

#include <array>

#include "plan/plan.h"

namespace autoccl {

/// One rank's place in one of the two trees.
struct TreeSeat {
  bool isRoot = false;
  int parent = 0;  // meaningless at the root
  int nChildren = 0;
  std::array<int, 2> children{};
};

/// Place of seat.me in tree 0 or 1 of seat.n ranks under seat.root. Depth ceil(lg n). Every rank
/// but the root has children in at most one of the trees.
[[nodiscard]] TreeSeat treeSeat(Seat seat, int tree);

[[nodiscard]] Plan treeAllReduce(Seat seat);
[[nodiscard]] Plan treeBroadcast(Seat seat);
[[nodiscard]] Plan treeReduce(Seat seat);

}  // namespace autoccl
