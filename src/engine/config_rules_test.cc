#include "engine/config_rules.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace autoccl {
namespace {

Host hostOf(int nRanks, int cpus) {
  Host host;
  host.nRanks = nRanks;
  host.cpus = cpus;
  host.cma = true;
  host.stageBytes = 16 << 20;
  return host;
}

std::string effect(const char* asked, const Kinds& kinds,
                   Collective collective = Collective::kAllReduce) {
  const std::string text = toText(configInEffect(parseConfig(asked), collective, kinds));
  return text.substr(0, text.find(' '));
}

TEST(ConfigRules, AZeroConfigTakesThePathThatAllBuffersAllow) {
  Kinds kinds;
  kinds.nBytes = 1 << 20;
  kinds.cma = true;
  EXPECT_EQ(effect("twoshot/zero/shm", kinds), "twoshot/zero/shm");
  kinds.inPlace = true;
  EXPECT_EQ(effect("oneshot/zero/shm", kinds), "twoshot/zero/shm");
  EXPECT_EQ(effect("oneshot/zero/shm", kinds, Collective::kReduceScatter), "oneshot/zero/shm");
  kinds.inPlace = false;
  kinds.recvShared = false;
  EXPECT_EQ(effect("oneshot/zero/shm", kinds), "oneshot/zero/shm");
  EXPECT_EQ(effect("twoshot/zero/shm", kinds), "twoshot/simple/cma");
  EXPECT_EQ(effect("ring/zero/shm", kinds), "ring/simple/shm");
  kinds.cma = false;
  EXPECT_EQ(effect("twoshot/zero/shm", kinds), "twoshot/simple/shm");
  EXPECT_EQ(effect("twoshot/simple/cma", kinds), "twoshot/simple/shm");
  kinds.cma = true;
  kinds.nBytes = 8192;
  EXPECT_EQ(effect("twoshot/zero/shm", kinds), "oneshot/simple/shm");
  kinds.nBytes = 128 << 20;
  EXPECT_EQ(effect("twoshot/zero/shm", kinds), "twoshot/simple/shm");
  EXPECT_EQ(effect("twoshot/zero/shm", kinds, Collective::kBroadcast), "twoshot/simple/cma");
}

TEST(ConfigRules, OfTwoRanksTheKernelCopiesFromSixteenKibibytes) {
  Kinds kinds;
  kinds.nBytes = 20 << 10;
  kinds.cma = true;
  kinds.sendShared = kinds.recvShared = false;
  EXPECT_EQ(effect("twoshot/zero/shm", kinds, Collective::kBroadcast), "twoshot/simple/cma");
  EXPECT_EQ(effect("twoshot/zero/shm", kinds, Collective::kReduceScatter), "oneshot/simple/shm");
  kinds.nRanks = 4;
  EXPECT_EQ(effect("twoshot/zero/shm", kinds, Collective::kBroadcast), "oneshot/simple/shm");
}

TEST(ConfigRules, TheKernelCopiesInLargePiecesWhereNothingIsReduced) {
  Kinds kinds;
  kinds.nBytes = 1 << 20;
  kinds.cma = true;
  kinds.sendShared = kinds.recvShared = false;
  const Config asked = parseConfig("twoshot/zero/shm c=64K");
  EXPECT_EQ(configInEffect(asked, Collective::kAllToAll, kinds).chunk, 4u << 20);
  EXPECT_EQ(configInEffect(asked, Collective::kAllReduce, kinds).chunk, 64u << 10);
}

TEST(ConfigRules, TheDefaultGoesFromBesideTheEntryOverPullingToClaimedTiles) {
  const auto chosen = [](Collective collective, uint64_t bytes, int cpus) {
    Task task;
    task.collective = collective;
    task.bytes = bytes;
    const std::string text = toText(defaultConfig(task, hostOf(2, cpus)));
    return text.substr(0, text.find(' '));
  };
  EXPECT_EQ(chosen(Collective::kAllGather, 4096, 2), "oneshot/simple/shm");
  EXPECT_EQ(chosen(Collective::kAllGather, 4160, 2), "oneshot/zero/shm");
  EXPECT_EQ(chosen(Collective::kAllToAll, 1 << 20, 2), "oneshot/zero/shm");
  EXPECT_EQ(chosen(Collective::kAllToAll, 2 << 20, 2), "twoshot/zero/shm");
  EXPECT_EQ(chosen(Collective::kAllToAll, 1 << 20, 1), "twoshot/zero/shm");
  EXPECT_EQ(chosen(Collective::kAllReduce, 65536, 2), "twoshot/zero/shm");
  EXPECT_EQ(chosen(Collective::kBroadcast, 65536, 2), "twoshot/zero/shm");
}

TEST(ConfigRules, TheDefaultYieldsOnlyWhereRanksShareCpus) {
  Task task;
  task.bytes = 1 << 20;
  EXPECT_EQ(static_cast<WaitPolicy>(defaultConfig(task, hostOf(2, 2)).extra), WaitPolicy::kFutex);
  EXPECT_EQ(static_cast<WaitPolicy>(defaultConfig(task, hostOf(4, 2)).extra), WaitPolicy::kYield);
  Host told = hostOf(4, 2);
  told.wait = static_cast<int>(WaitPolicy::kSpin);
  EXPECT_EQ(static_cast<WaitPolicy>(defaultConfig(task, told).extra), WaitPolicy::kSpin);
}

TEST(ConfigRules, EverySubspaceHoldsSomethingThatRunsAndTheDefaultRuns) {
  for (const int n : {2, 3, 8}) {
    Task task;
    task.nRanks = n;
    task.bytes = 1 << 20;
    for (const Collective collective :
         {Collective::kAllReduce, Collective::kAllToAll, Collective::kBroadcast}) {
      task.collective = collective;
      const Space space = spaceOf(task, hostOf(n, 2));
      EXPECT_TRUE(space.valid(space.fallback));
      for (const Subspace& s : space.subspaces) {
        bool any = false;
        for (const uint32_t chunk : s.chunks)
          any |= space.valid({s.algorithm, s.protocol, s.transport, s.extra, 1, 1, chunk});
        EXPECT_TRUE(any);
        EXPECT_GT(space.priorUs(s.at(0, 0, 0)), 0);
      }
    }
  }
}

TEST(ConfigRules, LimitsBoundWhatCanBePinned) {
  Host host = hostOf(2, 2);
  host.maxChannels = 2;
  EXPECT_NO_THROW(checkConfig(parseConfig("twoshot/zero/shm nc=2 c=64K"), host));
  EXPECT_THROW(checkConfig(parseConfig("twoshot/zero/shm nc=4 c=64K"), host), Error);
  EXPECT_THROW(checkConfig(parseConfig("hier/simple/shm c=64K"), host), Error);
  host.cma = false;
  EXPECT_THROW(checkConfig(parseConfig("twoshot/simple/cma c=64K"), host), Error);
}

TEST(ConfigRules, OnlyOrderKeepingPathsShareTheDefaultsClass) {
  Task task;
  task.nRanks = 4;
  const Space space = spaceOf(task, hostOf(4, 4));
  for (const Subspace& s : space.subspaces)
    EXPECT_EQ(s.numericalClass == space.fallbackClass,
              s.algorithm == Algorithm::kOneShot || s.algorithm == Algorithm::kTwoShot);
}

}  // namespace
}  // namespace autoccl
