#include "edge/nccl/space.h"

#include <gtest/gtest.h>

#include "edge/nccl/user_limits.h"

namespace autoccl::nccl {
namespace {

constexpr Pair kRingLL{kAlgoRing, kProtoLL};
constexpr Pair kTreeSimple{kAlgoTree, kProtoSimple};
constexpr Pair kNvlsSimple{kAlgoNvls, kProtoSimple};

Task task(PairSet set, int nRanks = 8) {
  Task t;
  t.collective = Collective::kAllReduce;
  t.dtype = kAnyDataType;
  t.op = kAnyReduceOp;
  t.nRanks = nRanks;
  t.bytes = 1 << 20;
  t.variant = set;
  return t;
}

TEST(Pairs, NamesOfTheModelAndOfNcclAreOneTable) {
  for (int a = 0; a < kAlgos; ++a)
    for (int p = 0; p < kProtos; ++p) EXPECT_EQ(pairOf(configOf({a, p})), (Pair{a, p}));
  EXPECT_FALSE(pairOf(kUntouched));
  EXPECT_EQ(pairNamed("NVLS_TREE", "SIMPLE"), (Pair{kAlgoNvlsTree, kProtoSimple}));
  EXPECT_FALSE(pairNamed("Unknown", "SIMPLE"));
  EXPECT_FALSE(pairNamed(nullptr, nullptr));
  EXPECT_EQ(tunerBytes(kFuncAllGather, 100, elementBytes("ncclFloat32"), 8), 3200U);
  EXPECT_EQ(tunerBytes(kFuncAllReduce, 100, elementBytes("ncclBfloat16"), 8), 200U);
}

TEST(Pairs, BytesAreCountedAsNcclCountsThemForEachCollective) {
  const uint64_t element = elementBytes("ncclFloat32");
  for (const int func : {kFuncBroadcast, kFuncReduce, kFuncAllReduce})
    EXPECT_EQ(tunerBytes(func, 100, element, 8), 400U) << func;
  for (const int func : {kFuncAllGather, kFuncReduceScatter})
    EXPECT_EQ(tunerBytes(func, 100, element, 8), 3200U) << func;
}

TEST(Space, OffersExactlyThePairsOfTheCostTable) {
  const Space s = spaceOf(task(bitOf(kRingLL) | bitOf(kTreeSimple)), {.tunerVersion = 5}, {});
  ASSERT_EQ(s.subspaces.size(), 2U);
  EXPECT_EQ(s.fallback, kUntouched);
  EXPECT_TRUE(s.valid(configOf(kRingLL)));
  EXPECT_FALSE(s.valid(configOf(kNvlsSimple)));
  EXPECT_FALSE(s.valid(kUntouched));
  for (const Subspace& sub : s.subspaces) EXPECT_TRUE(wellFormed(sub.at(0, 0, 0)));
}

TEST(Space, ChannelsStayWithinTheUsersAndNcclsBounds) {
  const Space s =
      spaceOf(task(bitOf(kRingLL)), {.tunerVersion = 5, .minChannels = 2, .maxChannels = 8}, {});
  EXPECT_EQ(s.subspaces[0].channels, (std::vector<uint16_t>{2, 4, 8}));
  const Space fixed =
      spaceOf(task(bitOf(kRingLL)), {.tunerVersion = 5, .minChannels = 5, .maxChannels = 5}, {});
  EXPECT_EQ(fixed.subspaces[0].channels, std::vector<uint16_t>{5});
  const Space old = spaceOf(task(bitOf(kRingLL)), {.tunerVersion = 1}, {});
  EXPECT_EQ(old.subspaces[0].channels, std::vector<uint16_t>{0});
}

TEST(Space, NvlsIsNeverRaisedAboveNcclsOwnChannels) {
  const PairSet set = bitOf(kNvlsSimple);
  EXPECT_EQ(spaceOf(task(set), {.tunerVersion = 5}, {}).subspaces[0].channels,
            std::vector<uint16_t>{0});
  EXPECT_EQ(
      spaceOf(task(set), {.tunerVersion = 5, .nvlsChannels = 16}, {}).subspaces[0].channels.back(),
      16);
  EXPECT_EQ(spaceOf(task(set), {.tunerVersion = 5, .nNodes = 2, .nvlsChannels = 16}, {})
                .subspaces[0]
                .channels,
            std::vector<uint16_t>{0});
}

TEST(Space, ChunksAreOfferedFromTunerSixOnAndAreWholeGrains) {
  const PairSet set = bitOf({kAlgoRing, kProtoLL128}) | bitOf(kNvlsSimple);
  EXPECT_EQ(spaceOf(task(set), {.tunerVersion = 5}, {}).subspaces[0].chunks,
            std::vector<uint32_t>{0});
  const Space s = spaceOf(task(set), {.tunerVersion = 6}, {});
  EXPECT_GE(s.subspaces[0].chunks.size(), 4U);
  for (const uint32_t c : s.subspaces[0].chunks) EXPECT_EQ(c % 1920, 0U);
  EXPECT_EQ(s.subspaces[1].chunks, std::vector<uint32_t>{0});
}

TEST(Space, PromisesTheDefaultsBitsOnlyWhereTheOrderCannotMatter) {
  const auto same = [](const Space& s) { return s.subspaces[0].numericalClass == s.fallbackClass; };
  PairCosts costs;
  costs.fill(-1);
  costs[kAlgoRing * kProtos + kProtoLL] = 10;
  EXPECT_FALSE(same(spaceOf(task(bitOf(kRingLL), 8), {.tunerVersion = 5}, costs)));
  EXPECT_TRUE(same(spaceOf(task(bitOf(kRingLL), 2), {.tunerVersion = 5}, costs)));
  Task gather = task(bitOf(kRingLL), 8);
  gather.collective = Collective::kAllGather;
  EXPECT_TRUE(same(spaceOf(gather, {.tunerVersion = 5}, costs)));
}

TEST(Space, ThePriorIsNcclsOwnPrediction) {
  PairCosts costs;
  costs.fill(-1);
  costs[kAlgoRing * kProtos + kProtoLL] = 10;
  costs[kAlgoTree * kProtos + kProtoSimple] = 40;
  const Space s = spaceOf(task(bitOf(kRingLL) | bitOf(kTreeSimple)), {.tunerVersion = 5}, costs);
  EXPECT_DOUBLE_EQ(s.priorUs(kUntouched), 10);
  EXPECT_DOUBLE_EQ(s.priorUs(configOf(kTreeSimple)), 40);
}

TEST(TaskBook, NamesDependOnTheSequenceOfCallsAlone) {
  TaskBook one(8), two(8);
  for (uint64_t i = 1; i < 200; ++i) {
    const uint64_t bytes = 1000 * i + 4;
    EXPECT_EQ(one.taskOf(Collective::kAllReduce, bytes, 7),
              two.taskOf(Collective::kAllReduce, bytes, 7));
  }
  EXPECT_EQ(one.taskOf(Collective::kAllReduce, 1004, 7).bytes, 1004U);      // one of the first 64
  EXPECT_LT(one.taskOf(Collective::kAllReduce, 199004, 7).bytes, 199004U);  // a class
  EXPECT_EQ(one.taskOf(Collective::kAllReduce, 1 << 20, 7).bytes, 1U << 20);
}

TEST(TaskBook, KeepsTheFirstCostsOfATaskAndNcclsOwnChoice) {
  TaskBook book(2);
  std::vector<float> t(21, 3.0F);
  const CostTable costs(reinterpret_cast<CostRows>(t.data()), 7, 3);
  book.meet(42, &costs);
  t[0] = 9;
  book.meet(42, &costs);
  ASSERT_TRUE(book.costsOf(42));
  EXPECT_EQ((*book.costsOf(42))[0], 3.0F);
  EXPECT_FALSE(book.costsOf(43));
  book.noteOwnChoice(42, {kNvlsSimple, 16});
  EXPECT_EQ(book.ownChoiceOf(42)->pair, kNvlsSimple);
  EXPECT_EQ(book.ownChoiceOf(42)->channels, 16);
  EXPECT_EQ(book.mostChannels(kAlgoNvls), 16);
  for (uint64_t key = 1000; key < 3000; ++key) book.meet(key, &costs);  // beyond its bound
  EXPECT_TRUE(book.costsOf(42));
}

TEST(UserLimits, TheUsersVariablesWin) {
  const auto of = [](std::vector<const char*> environment) {
    environment.push_back(nullptr);
    return userLimits(readSources(environment.data(), "/nowhere"));
  };
  EXPECT_EQ(of({}).text, "");
  EXPECT_EQ(of({}).maxChannels, 32);
  const UserLimits both = of({"NCCL_MIN_NCHANNELS=4", "NCCL_MAX_CTAS=16", "NCCL_ALGO=Ring"});
  EXPECT_EQ(both.minChannels, 4);
  EXPECT_EQ(both.maxChannels, 16);
  EXPECT_TRUE(both.choosesPairs);
  EXPECT_EQ(both.text, "NCCL_ALGO=Ring NCCL_MIN_NCHANNELS=4 NCCL_MAX_CTAS=16");
  EXPECT_EQ(of({"NCCL_MIN_NCHANNELS=40"}).maxChannels, 40);
  EXPECT_EQ(of({"NCCL_MAX_NCHANNELS=2", "NCCL_MIN_NCHANNELS=8"}).minChannels, 2);
}

}  // namespace
}  // namespace autoccl::nccl
