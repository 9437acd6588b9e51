// The double's own parts, without processes.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/nccl_double/channels.h"
#include "tests/nccl_double/cost.h"
#include "tests/nccl_double/plugin_file.h"
#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {
namespace {

using namespace nccl;
using Files = std::vector<std::string>;

Machine oneNode(int ranks) {
  Machine m;
  m.nRanks = ranks;
  m.nChannels = 16;
  return m;
}

Limits usualLimits() {
  Limits limits;
  for (auto& algo : limits.maxThreads) std::fill(algo, algo + kProtos, 512);
  for (auto& algo : limits.thresholds) std::fill(algo, algo + kProtos, 64);
  limits.buffBytes[kProtoLL] = 512 << 10;
  limits.buffBytes[kProtoLL128] = 4915200;
  limits.buffBytes[kProtoSimple] = 4 << 20;
  return limits;
}

TEST(Release, KnowsTheNewestInterfacesOfEachVersion) {
  const struct {
    int version, tuner, profiler, env;
  } rows[] = {{21805, 0, 0, 0}, {21903, 1, 0, 0}, {22005, 1, 0, 0}, {22105, 2, 0, 0},
              {22203, 3, 0, 0}, {22304, 3, 1, 0}, {22403, 4, 2, 0}, {22501, 4, 2, 0},
              {22605, 4, 3, 0}, {22707, 4, 4, 0}, {22803, 5, 5, 0}, {22809, 5, 5, 1},
              {22907, 5, 6, 1}, {23003, 6, 6, 1}, {23007, 6, 6, 2}, {23102, 6, 7, 2},
              {23200, 7, 7, 2}};
  for (const auto& row : rows) {
    const Release r = releaseOf(row.version);
    EXPECT_EQ(r.tunerNewest, row.tuner) << row.version;
    EXPECT_EQ(r.profilerNewest, row.profiler) << row.version;
    EXPECT_EQ(r.envNewest, row.env) << row.version;
  }
}

TEST(PluginFiles, FollowTheRulesOfTheRelease) {
  EXPECT_EQ(pluginFiles(releaseOf(21903), Plugin::kTuner, nullptr), Files{});
  EXPECT_EQ(pluginFiles(releaseOf(21903), Plugin::kTuner, "x"), Files{"x"});
  EXPECT_EQ(pluginFiles(releaseOf(22105), Plugin::kTuner, nullptr), Files{"libnccl-tuner.so"});
  EXPECT_EQ(pluginFiles(releaseOf(22809), Plugin::kTuner, "x"), (Files{"x", "libnccl-tuner-x.so"}));
  EXPECT_EQ(pluginFiles(releaseOf(22809), Plugin::kTuner, "/a/b.so"), Files{"/a/b.so"});
  EXPECT_EQ(pluginFiles(releaseOf(22602), Plugin::kTuner, "/a/b.so"),
            Files{"libnccl-tuner-/a/b.so.so"});
  EXPECT_EQ(pluginFiles(releaseOf(22602), Plugin::kTuner, "libmine.so"), Files{"libmine.so"});
}

TEST(PluginFiles, TakeAShortNameForTheStaticPlugin) {
  EXPECT_EQ(pluginFiles(releaseOf(22809), Plugin::kTuner, "STATIC_PLUGIN").front(), "");
  EXPECT_EQ(pluginFiles(releaseOf(22809), Plugin::kTuner, "st").front(), "");
  EXPECT_EQ(pluginFiles(releaseOf(22105), Plugin::kTuner, "STATIC_PLUGIN").front(),
            "STATIC_PLUGIN");
}

TEST(Allowed, ReadsListsNegationsAndFunctions) {
  Allowed a;
  ASSERT_TRUE(readAllowed("ring,tree", nullptr, true, a));
  EXPECT_TRUE(a.pair[kFuncAllReduce][kAlgoTree][kProtoLL]);
  EXPECT_FALSE(a.pair[kFuncAllReduce][kAlgoNvls][kProtoSimple]);
  ASSERT_TRUE(readAllowed("^tree", "^LL", true, a));
  EXPECT_FALSE(a.pair[kFuncAllReduce][kAlgoTree][kProtoSimple]);
  EXPECT_FALSE(a.pair[kFuncAllReduce][kAlgoRing][kProtoLL]);
  EXPECT_TRUE(a.pair[kFuncAllReduce][kAlgoRing][kProtoLL128]);
  ASSERT_TRUE(readAllowed("allreduce:tree;broadcast:ring", nullptr, true, a));
  EXPECT_FALSE(a.pair[kFuncAllReduce][kAlgoRing][kProtoLL]);
  EXPECT_TRUE(a.pair[kFuncReduce][kAlgoTree][kProtoLL]);
  EXPECT_FALSE(readAllowed("square", nullptr, true, a));
}

TEST(CostTable, HasMinusOneWhereAPairIsImpossible) {
  Allowed all;
  ASSERT_TRUE(readAllowed(nullptr, nullptr, true, all));
  CostTable table;
  predict(oneNode(8), all, false, kFuncBroadcast, 1 << 20, 1, table);
  for (int a = 0; a < kAlgos; ++a)
    for (int p = 0; p < kProtos; ++p) EXPECT_EQ(table[a][p] >= 0, a == kAlgoRing) << a << p;
  predict(oneNode(8), all, false, kFuncAllReduce, 1 << 20, 1, table);
  EXPECT_EQ(table[kAlgoNvls][kProtoSimple], kEntryIgnored);
  Machine nvls = oneNode(8);
  nvls.nvls = true;
  predict(nvls, all, false, kFuncAllReduce, 1 << 20, 1, table);
  EXPECT_GT(table[kAlgoNvls][kProtoSimple], 0);
  EXPECT_EQ(table[kAlgoNvls][kProtoLL], kEntryIgnored);
}

TEST(TrueTime, LeavesTheTunerSomethingToFind) {
  // Somewhere among sizes the pair with the smallest prediction is 10 % slower than the best one.
  Allowed all;
  ASSERT_TRUE(readAllowed(nullptr, nullptr, true, all));
  const Machine m = oneNode(8);
  double worst = 1;
  for (size_t bytes = 4096; bytes <= (size_t{64} << 20); bytes *= 4) {
    CostTable table;
    predict(m, all, false, kFuncAllReduce, bytes, 1, table);
    double chosenUs = 0, bestUs = 1e30;
    float least = 1e30F;
    for (const int a : {kAlgoTree, kAlgoRing})
      for (int p = 0; p < kProtos; ++p) {
        const double us = trueUs(m, kFuncAllReduce, a, p, 16, 16, 512 << 10, bytes);
        bestUs = std::min(bestUs, us);
        if (table[a][p] < least) chosenUs = us;
        least = std::min(least, table[a][p]);
      }
    worst = std::max(worst, chosenUs / bestUs);
  }
  EXPECT_GT(worst, 1.1);
}

TEST(Lanes, AreFewerForSmallCalls) {
  const Lanes large =
      lanesFor(oneNode(8), usualLimits(), kAlgoRing, kProtoSimple, size_t{64} << 20);
  const Lanes small = lanesFor(oneNode(8), usualLimits(), kAlgoRing, kProtoSimple, 2048);
  EXPECT_EQ(large.channels, 16);
  EXPECT_EQ(large.warps, 17);
  EXPECT_EQ(small.channels, 1);
  EXPECT_EQ(small.warps, 3);
  EXPECT_EQ(lanesFor(oneNode(8), usualLimits(), kAlgoTree, kProtoLL, 2048).warps, 20);
}

TEST(Chunks, ComeAsNcclsDefaults) {
  const Limits limits = usualLimits();
  const auto chunk = [&](Func func, int algo, int proto) {
    return chunkFor(oneNode(8), limits, func, algo, proto, 1, size_t{1} << 30).chunk;
  };
  EXPECT_EQ(chunk(kFuncAllReduce, kAlgoRing, kProtoSimple), size_t{2} << 20);
  EXPECT_EQ(chunk(kFuncBroadcast, kAlgoRing, kProtoSimple), size_t{512} << 10);
  EXPECT_EQ(chunk(kFuncAllReduce, kAlgoRing, kProtoLL), size_t{32} << 10);
  EXPECT_EQ(chunk(kFuncAllReduce, kAlgoTree, kProtoSimple), size_t{512} << 10);
}

size_t dealt(const Part& part) {
  const auto mids = static_cast<size_t>(part.channels) - 1 - (part.hi != 0 ? 1 : 0);
  return part.lo + mids * part.mid + part.hi;
}

TEST(ChannelShares, DealEveryElementWithinTheChannels) {
  for (const size_t count : {size_t{1}, size_t{1000}, size_t{65536}, size_t{1000003}})
    for (const int asked : {1, 3, 16, -3}) {
      ChannelShares shares(16 << 10, count * 4 * 2, asked, 16);
      const Part part = shares.take(count, 4, 2);
      EXPECT_EQ(dealt(part), count) << count << " over " << asked;
      EXPECT_GE(part.channels, 1);
      EXPECT_LE(part.first + part.channels, 16);
      EXPECT_LE(part.channels, asked > 0 ? asked : 16);
    }
}

TEST(ChannelShares, GiveEachChannelTheLeastTraffic) {
  ChannelShares shares(16 << 10, size_t{64} << 10, 16, 16);  // 32 KiB of AllReduce
  EXPECT_EQ(shares.take(8192, 4, 2).channels, 4);
}

TEST(ChannelShares, LayTheCollectivesOfAPlanSideBySide) {
  ChannelShares shares(16 << 10, size_t{4} << 20, 8, 16);
  const Part first = shares.take(size_t{256} << 10, 4, 2);
  const Part second = shares.take(size_t{256} << 10, 4, 2);
  EXPECT_EQ(first.first, 0);
  EXPECT_GE(second.first, first.first + first.channels - 1);
  EXPECT_LE(second.first + second.channels, 16);
}

}  // namespace
}  // namespace autoccl::nccl_double
