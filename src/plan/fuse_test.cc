#include "plan/fuse.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/catalog.h"
#include "plan/halving_doubling.h"
#include "plan/tree.h"

namespace autoccl {
namespace {

// Every strand as the names of its actions.
std::string names(Algorithm a, Collective c, Seat seat) {
  std::string text;
  for (const Strand& s : fuse(findPlan(a, c)->make(seat), c, seat).strands) {
    if (!text.empty()) text += " | ";
    for (size_t i = 0; i < s.actions.size(); ++i)
      text += (i ? " " : "") + std::string(nameOf(s.actions[i]));
  }
  return text;
}

TEST(Fuse, ARingAllReduceIsNcclsSequenceOfPrimitives) {
  for (int me = 0; me < 4; ++me)
    EXPECT_EQ(
        names(Algorithm::kRing, Collective::kAllReduce, {me, 4, 0}),
        "send recvReduceSend recvReduceSend recvReduceCopySend recvCopySend recvCopySend recv");
}

TEST(Fuse, AHopInTheMiddleMakesOnePass) {
  EXPECT_EQ(names(Algorithm::kRing, Collective::kBroadcast, {1, 3, 0}), "recvCopySend");
  EXPECT_EQ(names(Algorithm::kRing, Collective::kBroadcast, {0, 3, 0}), "copySend");
  EXPECT_EQ(names(Algorithm::kRing, Collective::kReduce, {2, 3, 0}), "recvReduceSend");
  EXPECT_EQ(names(Algorithm::kRing, Collective::kReduceScatter, {2, 3, 0}),
            "send recvReduceSend recvReduceCopy");
  EXPECT_EQ(names(Algorithm::kRing, Collective::kAllGather, {2, 3, 0}),
            "copySend recvCopySend recv");
}

TEST(Fuse, PairwiseExchangeNeverSendsWhatItReceived) {
  EXPECT_EQ(names(Algorithm::kRing, Collective::kAllToAll, {0, 3, 0}), "copy send recv send recv");
}

TEST(Fuse, ATreeCombinesBothChildrenAtOnceAndSendsToBothAtOnce) {
  const Seat seat{2, 8, 0};  // label 2 has children 1 and 3 in tree 0
  ASSERT_EQ(treeSeat(seat, 0).nChildren, 2);
  const Program p = fuse(treeAllReduce(seat), Collective::kAllReduce, seat);
  const Action& up = p.strands[0].actions.at(0);
  EXPECT_STREQ(nameOf(up), "recvReduceSend");
  EXPECT_EQ(up.nFrom, 2);
  EXPECT_EQ(up.nTo, 1);
  EXPECT_EQ(p.strands[0].actions.size(), 1u);
  int sends = 0;
  for (const Strand& s : p.strands)
    for (const Action& a : s.actions)
      if (std::string(nameOf(a)) == "recvCopySend") sends += a.nTo;
  EXPECT_EQ(sends, 2);
}

TEST(Fuse, HalvingKeepsPartialSumsOnlyWhereTheyAreReadAgain) {
  const Seat seat{5, 8, 0};
  const Program p =
      fuse(findPlan(Algorithm::kHalvingDoubling, Collective::kReduceScatter)->make(seat),
           Collective::kReduceScatter, seat);
  EXPECT_TRUE(p.accumulates);
  const auto& last = p.strands[0].actions.back();
  EXPECT_EQ(last.store, Action::Store::kOut);
  EXPECT_TRUE(last.last);
  EXPECT_FALSE(fuse(findPlan(Algorithm::kRing, Collective::kReduceScatter)->make(seat),
                    Collective::kReduceScatter, seat)
                   .accumulates);
}

TEST(Catalog, SaysHowWideTheWidestMessageIs) {
  EXPECT_EQ(widestMessage(halvingReduceScatter, 8, 0), 4);
  EXPECT_EQ(widestMessage(halvingReduceScatter, 6, 0), 6);  // the fold
  EXPECT_EQ(widestMessage(treeAllReduce, 6, 0), 1);
}

TEST(Tree, EveryRankWorksInsideAtMostOneTreeAndDepthIsLogarithmic) {
  for (int n = 2; n <= 70; ++n) {
    const int root = n / 3;
    for (int me = 0; me < n; ++me) {
      if (me == root) continue;
      EXPECT_FALSE(treeSeat({me, n, root}, 0).nChildren > 0 &&
                   treeSeat({me, n, root}, 1).nChildren > 0)
          << n << " " << me;
      for (int tree = 0; tree < 2; ++tree) {
        int depth = 1;
        for (int r = treeSeat({me, n, root}, tree).parent; r != root;
             r = treeSeat({r, n, root}, tree).parent)
          ASSERT_LE(++depth, n);
        EXPECT_LE(1 << (depth - 1), n - 1) << n << " " << me;
      }
    }
  }
}

TEST(Catalog, ServesEveryCollectiveDirectlyAndNamesEachRowOnce) {
  for (int c = 0; c < kCollectives; ++c)
    for (const Algorithm a : {Algorithm::kOneShot, Algorithm::kTwoShot})
      EXPECT_EQ(findPlan(a, Collective(c)) != nullptr, Collective(c) != Collective::kBarrier);
  for (const CatalogRow& row : catalog()) {
    EXPECT_EQ(findPlan(row.algorithm, row.collective), &row);
    EXPECT_FALSE(row.formula.empty() || row.when.empty());
    EXPECT_GT(row.cost(8).steps, 0);
  }
  EXPECT_EQ(findPlan(Algorithm::kTree, Collective::kAllToAll), nullptr);
}

}  // namespace
}  // namespace autoccl
