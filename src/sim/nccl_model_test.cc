#include "sim/nccl_model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "sim/nccl_cluster.h"

namespace autoccl::sim {
namespace {

enum Function { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce };
enum Algorithm { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };
enum Protocol { kLL, kLL128, kSimple };

UniformCluster nodesOf(const std::string& gpu, int nodes, int gpus, int nics = 8) {
  UniformCluster c;
  c.gpu = gpuKindNamed(gpu);
  c.nodes = nodes;
  c.gpusPerNode = gpus;
  c.nicsPerNode = nodes > 1 ? nics : 0;
  return c;
}

double at(const NcclTimes& times, int algorithm, int protocol) {
  return times[static_cast<size_t>(algorithm)][static_cast<size_t>(protocol)];
}

TEST(NcclCluster, ChannelsFollowTheLadderOfSpeeds) {
  const NcclGraph a100 = describe(nodesOf("a100", 1, 8)).graphs[kRing];
  EXPECT_EQ(a100.channels, 12);  // six of 40 GB/s, doubled
  EXPECT_DOUBLE_EQ(a100.intraGBps, 20);
  const NcclGraph h100 = describe(nodesOf("h100", 1, 8)).graphs[kRing];
  EXPECT_EQ(h100.channels, 12);  // six of 60 GB/s, doubled
  EXPECT_DOUBLE_EQ(h100.intraGBps, 30);
  const NcclGraph many = describe(nodesOf("h100", 4, 8)).graphs[kRing];
  EXPECT_EQ(many.channels, 8);  // one a NIC; eight of 48 GB/s are more than the links carry
  EXPECT_DOUBLE_EQ(many.interGBps, 45);
}

TEST(NcclCluster, WhatCannotBeIsRefusedWithTheOptionToGive) {
  EXPECT_THROW((void)describe(nodesOf("h100", 1, 1)), Error);
  EXPECT_THROW((void)describe(nodesOf("h100", 2, 8, 0)), Error);
  EXPECT_THROW((void)gpuKindNamed("h300"), Error);
}

TEST(NcclModel, OneTaskByHand) {
  // 8 x A100: 12 channels of 20 GB/s give 240 GB/s of bus and 240 x 8/14 of algorithm bandwidth;
  // latency is 8.4 us and 14 steps of 3.4 us.
  const NcclModel model(describe(nodesOf("a100", 1, 8)));
  const double us = at(model.times(kAllReduce, 1 << 30), kRing, kSimple);
  EXPECT_NEAR(us, 8.4 + 14 * 3.4 + double{1 << 30} / (1000 * 240.0 * 8 / 14), 0.01);
  // Tree: at most 24 GB/s a channel, 92 %; half of the bus; full share at 1 GiB is not in the
  // table.
  const double tree = at(model.times(kAllReduce, 1 << 30), kTree, kSimple);
  EXPECT_NEAR(tree, 8.4 + 2 * 7 * 4.0 + double{1 << 30} / (1000 * 240.0 * .92 / 2), 0.01);
}

TEST(NcclModel, PairsThatNcclDoesNotHaveAreNegative) {
  const NcclModel model(describe(nodesOf("h100", 2, 8)));
  for (const int f : {kBroadcast, kReduce})
    for (int a = 0; a < kNcclAlgorithms; ++a)
      EXPECT_EQ(at(model.times(f, 1 << 20), a, kSimple) >= 0, a == kRing) << f << " " << a;
  EXPECT_LT(at(model.times(kAllGather, 1 << 20), kTree, kSimple), 0);
  EXPECT_LT(at(model.times(kAllGather, 1 << 20), kPat, kSimple), 0);   // eight GPUs a node
  EXPECT_LT(at(model.times(kAllReduce, 1 << 20), kNvls, kSimple), 0);  // not in use
  EXPECT_LT(at(model.times(kAllReduce, 1 << 20), kCollNetChain, kSimple), 0);
}

TEST(NcclModel, TimesGrowWithBytesAndTheChoiceIsTheSmallest) {
  for (const int nodes : {1, 2, 4, 16}) {
    const NcclModel model(describe(nodesOf("h200", nodes, 8)));
    for (int f = 0; f < kNcclFunctions; ++f)
      for (uint64_t bytes = 8; bytes <= uint64_t{1} << 32; bytes *= 2) {
        const NcclTimes table = model.times(f, bytes);
        const NcclChoice best = model.choice(f, bytes);
        ASSERT_GE(best.algorithm, 0);
        for (const auto& row : table)
          for (const double us : row) {
            EXPECT_TRUE(us < 0 || us >= best.us);
          }
        EXPECT_GE(at(model.times(f, bytes * 2), kRing, kSimple), at(table, kRing, kSimple));
      }
  }
}

TEST(NcclModel, SmallMessagesTakeLlAndLargeOnesSimple) {
  const NcclModel model(describe(nodesOf("a100", 2, 8)));
  EXPECT_EQ(model.choice(kAllReduce, 1024).protocol, kLL);
  EXPECT_EQ(model.choice(kAllReduce, uint64_t{1} << 30).protocol, kSimple);
  EXPECT_EQ(model.choice(kAllReduce, 1024).algorithm, kTree);
}

TEST(NcclModel, ACrossoverIsExactToTheByte) {
  const NcclModel model(describe(nodesOf("h200", 2, 8)));
  for (int f = 0; f < kNcclFunctions; ++f) {
    const auto found = crossovers(model, f, 1024, uint64_t{1} << 30);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].fromBytes, 1024U);
    for (size_t i = 1; i < found.size(); ++i) {
      const NcclChoice before = model.choice(f, found[i].fromBytes - 1);
      EXPECT_TRUE(before.algorithm != found[i].choice.algorithm ||
                  before.protocol != found[i].choice.protocol);
    }
  }
}

TEST(NcclModel, AnotherVendorOfCpuMovesTheNetworkTerms) {
  UniformCluster c = nodesOf("h100", 4, 8);
  const double intel = at(NcclModel(describe(c)).times(kAllReduce, 1 << 20), kRing, kLL);
  c.cpu = CpuVendor::kAmd;
  EXPECT_GT(at(NcclModel(describe(c)).times(kAllReduce, 1 << 20), kRing, kLL), intel);
}

}  // namespace
}  // namespace autoccl::sim
