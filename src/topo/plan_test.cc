#include "topo/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "topo/nccl_xml.h"
#include "topo/plan_cost.h"
#include "topo/testing/fixtures.h"
#include "topo/testing/hosts.h"

namespace autoccl::topo {
namespace {

const LevelCost& level(const PlanCost& cost, LinkLevel l) {
  return cost.levels[static_cast<size_t>(l)];
}

TEST(TopoPlan, EightHostsOfEightGpusUseAllRailsAndCrossNone) {
  const Job job = jobOf(fixtures::switchedHost(8, 8), railFabric(8, 8, 8, 400));
  const auto rings = railRings(job);
  ASSERT_EQ(rings.size(), 8U);
  constexpr double kBytes = 128 << 20;
  const PlanCost cost = ringCost(job, rings, kBytes);
  EXPECT_EQ(cost.crossRailPairs, 0);
  EXPECT_EQ(cost.leafCrossings, 0);
  EXPECT_EQ(cost.nicsUsed, 8);
  EXPECT_DOUBLE_EQ(level(cost, LinkLevel::kNic).busiestBytes, ringLowerBound(job, kBytes));
  EXPECT_DOUBLE_EQ(ringLowerBound(job, kBytes), 2.0 * 63 / 64 * kBytes / 8);
  EXPECT_EQ(level(cost, LinkLevel::kSocket).hops, 0) << "NVLink joins all GPUs";
}

TEST(TopoPlan, TheOrderOfRanksAloneCrossesRailsAndUsesTwoNics) {
  const Job job = jobOf(fixtures::switchedHost(8, 8), railFabric(8, 8, 8, 400));
  const PlanCost cost = ringCost(job, naiveRings(job), 1 << 20);
  EXPECT_EQ(cost.crossRailPairs, 8);
  EXPECT_EQ(cost.leafCrossings, 8);
  EXPECT_EQ(cost.nicsUsed, 2);
  EXPECT_DOUBLE_EQ(level(cost, LinkLevel::kNic).busiestBytes, 2.0 * 63 / 64 * (1 << 20));
}

TEST(TopoPlan, EveryRingPassesEveryGpuOnceAndBeginsNextToItsNic) {
  const Job job = jobOf(fixtures::switchedHost(8, 8), railFabric(4, 8, 8, 400));
  for (const RingChannel& ring : railRings(job)) {
    EXPECT_EQ(std::set<int>(ring.gpus.begin(), ring.gpus.end()).size(), 8U);
    EXPECT_EQ(std::set<int>(ring.hosts.begin(), ring.hosts.end()).size(), 4U);
    EXPECT_EQ(ring.gpus.front(), ring.nicIn) << "GPU i and NIC i share a switch";
    EXPECT_EQ(ring.nicIn, ring.nicOut);
    EXPECT_TRUE(ring.overPeer) << "the last GPU's own NIC is on another rail";
  }
}

TEST(TopoPlan, RingsOfDirectLinksShareThemEvenly) {
  Host host = fixtures::pciHost(8, 8);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      if (i != j)
        fixtures::addLink(
            host, i, host.pci[static_cast<size_t>(host.gpus[static_cast<size_t>(j)].pci)].busId, 1,
            "0x030200");
  const Job job = jobOf(host, railFabric(2, 8, 8, 400));
  const PlanCost cost = ringCost(job, railRings(job), 1 << 20);
  const double oneRing = 2.0 * 15 / 16 * (1 << 20) / 8;
  EXPECT_LE(level(cost, LinkLevel::kGpuLink).busiestBytes, 2 * oneRing) << "64 hops over 56 links";
}

TEST(TopoPlan, WithoutNvlinkASocketIsLeftAsSeldomAsCanBe) {
  const Job job = jobOf(fixtures::pciHost(8, 2), railFabric(2, 8, 2, 100));
  const PlanCost cost = ringCost(job, railRings(job), 1 << 20);
  // A ring that enters and leaves a host on one socket crosses to the other and back: 2 x 2 rings.
  EXPECT_EQ(level(cost, LinkLevel::kSocket).hops, 2 * 2 * job.hosts());
  EXPECT_EQ(cost.nicsUsed, 2);
}

TEST(TopoPlan, UnevenNvlinkIsFollowedWhereItJoinsAll) {
  // A cube of eight GPUs, each joined to three others.
  const Job job = jobOf(fixtures::cubeHost(), railFabric(1, 8, 0, 0));
  const auto rings = railRings(job);
  const PlanCost cost = ringCost(job, rings, 1 << 20);
  ASSERT_EQ(rings.size(), 2U);
  EXPECT_LE(level(cost, LinkLevel::kPci).hops, 4) << "at most the way back of each ring";
  EXPECT_GE(level(cost, LinkLevel::kGpuLink).hops, 14);
}

TEST(TopoPlan, HostsOfOneLeafFollowEachOther) {
  Fabric fabric = railFabric(8, 8, 1, 400);
  fabric.spine = {1, 50, 1};
  fabric.leaves = {{"even", {0, 2, 4, 6}, {0}, 4}, {"odd", {1, 3, 5, 7}, {0}, 4}};
  const Job job = jobOf(fixtures::switchedHost(8, 1), fabric);
  EXPECT_EQ(ringCost(job, naiveRings(job), 1 << 20).leafCrossings, 8);
  const PlanCost cost = ringCost(job, railRings(job), 1 << 20);
  EXPECT_EQ(cost.leafCrossings, 2) << "there and back";
  EXPECT_EQ(level(cost, LinkLevel::kSpine).busiest, "even up");
  EXPECT_DOUBLE_EQ(level(cost, LinkLevel::kSpine).GBps, 200);
}

TEST(TopoPlan, BothTreesReachEveryHostAndShareNoInnerOne) {
  for (const int hosts : {1, 2, 3, 5, 8, 9, 31, 64, 100}) {
    const HostTrees trees = hostTrees(hosts);
    std::set<int> inner[2];
    int which = 0;
    for (const auto* tree : {&trees.first, &trees.second}) {
      EXPECT_EQ(std::ranges::count(*tree, -1), 1) << hosts;
      for (int h = 0; h < hosts; ++h) {
        int depth = 0;
        for (int at = h; at >= 0; at = (*tree)[static_cast<size_t>(at)]) ASSERT_LE(++depth, hosts);
        EXPECT_LE(depth, std::ceil(std::log2(hosts + 1)) + 1) << hosts;
        if ((*tree)[static_cast<size_t>(h)] >= 0)
          inner[which].insert((*tree)[static_cast<size_t>(h)]);
      }
      for (const int h : inner[which])
        EXPECT_LE(std::ranges::count(*tree, h), 2) << "a binary tree of " << hosts;
      ++which;
    }
    for (const int h : inner[0]) EXPECT_FALSE(inner[1].contains(h)) << h << " of " << hosts;
  }
}

TEST(TopoPlan, TwoDimensionsWinWhereLatencyCountsAndTheFlatRingNeedsManySteps) {
  const Job job = jobOf(fixtures::switchedHost(8, 8), railFabric(128, 8, 8, 200));
  const TwoWays small = allReduceSeconds(job, 1 << 20);
  EXPECT_LT(small.twoDimensional, small.flat);
  // By hand: 2 x 7 steps inside, 2 x 127 on the rail.
  EXPECT_NEAR(small.twoDimensional,
              14e-6 + 1.75 * (1 << 20) / 370.8e9 + 254 * 5e-6 + 254.0 / 128 * (1 << 17) / 25e9,
              1e-9);
}

TEST(TopoPlan, AHostAndAFabricThatDoNotFitAreRefused) {
  EXPECT_THROW((void)jobOf(fixtures::switchedHost(8, 8), railFabric(2, 4, 8, 100)), Error);
  EXPECT_THROW((void)jobOf(fixtures::switchedHost(8, 8), railFabric(2, 8, 4, 100)), Error);
  EXPECT_THROW((void)jobOf(Host{}, railFabric(1, 8, 0, 100)), Error);
}

TEST(TopoPlan, FourThousandHostsArePlanned) {
  const Job job = jobOf(fixtures::switchedHost(8, 8), railFabric(4096, 8, 8, 400));
  const PlanCost cost = ringCost(job, railRings(job), 1 << 30);
  EXPECT_EQ(cost.crossRailPairs, 0);
  EXPECT_EQ(level(cost, LinkLevel::kNic).hops, 4096 * 8 * 2);
}

}  // namespace
}  // namespace autoccl::topo
