// Double binary trees. Sanders, Speck & Träff, Parallel Computing 35 (2009) 581-594.
// n ranks, 2 blocks, block t travels over tree t. The root stands above both trees; the other
// m = n-1 ranks have labels x = me-root in 1..m and roles y in 1..m:
//   tree 0  y = x
//   tree 1  y = m+1-x for even m (mirror), y = x-1, with m for 0, for odd m (shift)
// Roles form the in-order tree: with b the lowest set bit of y, the children are y-b/2 and y+b/2
// and the parent is the one neighbour of y at distance b with bit 2b set; where that is beyond m,
// its own parent (or left child) stands in for it. Odd roles are leaves, and both maps of tree 1
// send even to odd: who works inside one tree is a leaf of the other.
//
//   up    receive block t from every child, reduce; send it to the parent       (Reduce)
//   down  receive block t from the parent, copy; send it to every child         (Broadcast)
//   AllReduce is both; at the root, down follows up. Up and down are separate flows elsewhere.
//
// Depth ceil(lg n) a direction; a rank sends at most nBytes a direction.
#include "plan/tree.h"

#include <bit>
#include <cstddef>

namespace autoccl {
namespace {

constexpr int kTrees = 2;

int roleOf(int x, int m, int tree) {
  if (tree == 0) return x;
  return m % 2 == 0 ? m + 1 - x : (x == 1 ? m : x - 1);
}
int labelOf(int y, int m, int tree) {
  if (tree == 0) return y;
  return m % 2 == 0 ? m + 1 - y : (y == m ? 1 : y + 1);
}

int topRole(int m) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(m)));
}

int parentRole(int y, int m) {
  for (int b = y & -y;; b <<= 1) {
    y = (y ^ b) | (b << 1);
    if (y <= m) return y;
  }
}

// The root of what lies within `reach` on one side of y, cut at m; 0 if that is empty.
int childRole(int y, int side, int reach, int m) {
  for (int b = reach; b > 0; b >>= 1) {
    const int child = side < 0 ? y - reach : y + b;
    if (child <= m) return child;
  }
  return 0;
}

TreeSeat rootSeat(Seat t, int tree) {
  TreeSeat seat{true, 0, 0, {}};
  if (const int m = t.n - 1; m > 0)
    seat.children[static_cast<size_t>(seat.nChildren++)] =
        mod(labelOf(topRole(m), m, tree) + t.root, t.n);
  return seat;
}

void up(Flow& flow, const TreeSeat& seat, BlockRange block) {
  for (int c = 0; c < seat.nChildren; ++c) {
    const bool last = seat.isRoot && c == seat.nChildren - 1;
    flow.steps.push_back({0,
                          {},
                          seat.children[static_cast<size_t>(c)],
                          block,
                          last ? RecvOp::kReduceLast : RecvOp::kReduce});
  }
  if (!seat.isRoot) flow.steps.push_back({seat.parent, block, 0, {}, RecvOp::kNone});
}

void down(Flow& flow, const TreeSeat& seat, BlockRange block) {
  if (!seat.isRoot) flow.steps.push_back({0, {}, seat.parent, block, RecvOp::kCopy});
  for (int c = 0; c < seat.nChildren; ++c)
    flow.steps.push_back({seat.children[static_cast<size_t>(c)], block, 0, {}, RecvOp::kNone});
}

// One flow a tree, filled by `fill`.
template <class Fill>
Plan bothTrees(Seat t, Fill fill) {
  Plan plan{kTrees, kTrees, {}};
  for (int tree = 0; tree < kTrees; ++tree) {
    Flow flow{tree, {}};
    fill(flow, treeSeat(t, tree), BlockRange{tree, 1});
    plan.flows.push_back(flow);
  }
  return plan;
}

}  // namespace

TreeSeat treeSeat(Seat t, int tree) {
  if (t.me == t.root) return rootSeat(t, tree);
  const int m = t.n - 1, y = roleOf(mod(t.me - t.root, t.n), m, tree);
  const auto rank = [&](int role) { return mod(labelOf(role, m, tree) + t.root, t.n); };
  TreeSeat seat{false, y == topRole(m) ? t.root : rank(parentRole(y, m)), 0, {}};
  const int reach = (y & -y) / 2;
  for (const int side : {-1, 1})
    if (const int child = childRole(y, side, reach, m); child != 0)
      seat.children[static_cast<size_t>(seat.nChildren++)] = rank(child);
  return seat;
}

Plan treeBroadcast(Seat t) {
  return bothTrees(t, [&](Flow& flow, const TreeSeat& seat, BlockRange block) {
    if (seat.isRoot) flow.steps.push_back(keep(t.me, block));
    down(flow, seat, block);
  });
}

Plan treeReduce(Seat t) {
  return bothTrees(t, [&](Flow& flow, const TreeSeat& seat, BlockRange block) {
    if (t.n == 1) flow.steps.push_back(keep(t.me, block));
    up(flow, seat, block);
  });
}

Plan treeAllReduce(Seat t) {
  Plan plan = treeReduce(t);
  for (int tree = 0; tree < kTrees; ++tree) {
    const TreeSeat seat = treeSeat(t, tree);
    if (!seat.isRoot) plan.flows.push_back({tree, {}});
    down(seat.isRoot ? plan.flows[static_cast<size_t>(tree)] : plan.flows.back(), seat, {tree, 1});
  }
  return plan;
}

}  // namespace autoccl
