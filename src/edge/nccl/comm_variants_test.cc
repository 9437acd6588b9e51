// One sequence of calls over several communicators.
#include <gtest/gtest.h>

#include <string>

#include "edge/nccl/comm_context.h"
#include "edge/nccl/testing/counted.h"
#include "edge/nccl/testing/script_gate.h"
#include "edge/nccl/tuner_calls.h"

namespace autoccl::nccl {
namespace {

constexpr Pair kRingSimple{kAlgoRing, kProtoSimple};
constexpr size_t kBytes = 1 << 20;

/// A communicator with one variant, as the interposer drives them.
class Switched : public ::testing::Test {
 protected:
  void SetUp() override {
    sampling.attach(&mask, 5);
    variantsRecord.isVariant = true;
    variant.learn({.known = &variantsRecord});
    own.setGate(&gate);
    own.attach(Variant::kLargeBuffers, variant);
    own.offer(bitOf(Variant::kLargeBuffers));
    callNote = {};
    callNote.switchable = true;
    task.collective = Collective::kAllReduce;
    task.dtype = kAnyDataType;
    task.op = kAnyReduceOp;
    task.nRanks = 8;
    task.bytes = kBytes;
    task.variant = bitOf(kRingSimple) | kSwitchable;
    onVariant = configOf(kRingSimple);
    onVariant.extra = static_cast<uint8_t>(Variant::kLargeBuffers);
    onVariant.channels = 4;
  }
  void TearDown() override {
    variant.close();
    own.close();
    callNote = {};
  }
  Result ask(CommContext& context) {
    table.fill(kEntryIgnored);
    table[static_cast<size_t>(kRingSimple.algo * kProtos + kRingSimple.proto)] = 7;
    nChannels = 0;
    return answerInTable(
        &context,
        {kFuncAllReduce, kBytes, 1, reinterpret_cast<CostRows>(table.data()), kAlgos, kProtos},
        &nChannels);
  }
  [[nodiscard]] float entry() const {
    return table[static_cast<size_t>(kRingSimple.algo * kProtos + kRingSimple.proto)];
  }

  static constexpr Origin kOrigin{
      .commId = 9, .rank = 0, .nRanks = 8, .nNodes = 1, .tunerVersion = 5, .profilerVersion = 5};
  Sampling sampling;
  int mask = -1;
  KnownCommunicator variantsRecord;
  CommContext own{kOrigin, sampling};
  CommContext variant{kOrigin, sampling};
  testing::ScriptGate gate;
  PairCosts table{};
  int nChannels = 0;
  Task task;
  Config onVariant;
};

TEST_F(Switched, ACallIsCountedOnceAndAnsweredOnItsVariant) {
  gate.answer = onVariant;
  ASSERT_TRUE(own.decideAhead(task));
  EXPECT_TRUE(callNote.decided);
  EXPECT_EQ(callNote.asked, onVariant);
  EXPECT_EQ(ask(variant), Result::kSuccess);
  EXPECT_EQ(entry(), 0.0F);
  EXPECT_EQ(nChannels, 4);
  EXPECT_EQ(ask(variant), Result::kSuccess) << "NCCL may ask twice";
  EXPECT_EQ(entry(), 0.0F);
  EXPECT_EQ(gate.taken, 1U);
}

TEST_F(Switched, TheFirstCallIsDecidedWhenNcclAsksAndTellsItsTask) {
  EXPECT_EQ(ask(own), Result::kSuccess);
  EXPECT_EQ(gate.taken, 1U);
  EXPECT_FALSE(callNote.decided);
  EXPECT_EQ(keyOf(callNote.task), keyOf(task));
}

TEST_F(Switched, AVariantDecidesNothingByItself) {
  gate.answer = onVariant;
  EXPECT_EQ(ask(variant), Result::kSuccess);
  EXPECT_EQ(entry(), 7.0F);
  EXPECT_EQ(gate.taken, 0U);
}

TEST_F(Switched, APairThatTheVariantDoesNotHaveIsNeverForced) {
  gate.answer = configOf({kAlgoTree, kProtoLL});
  gate.answer.extra = onVariant.extra;
  ASSERT_TRUE(own.decideAhead(task));
  EXPECT_EQ(ask(variant), Result::kSuccess);
  EXPECT_EQ(entry(), 7.0F);
}

TEST_F(Switched, ItsSamplesGoToTheSessionOfTheUsersCommunicator) {
  gate.answer = onVariant;
  ASSERT_TRUE(own.decideAhead(task));
  (void)ask(variant);
  void* call = variant.collStarted({kFuncAllReduce, kBytes / 4, 4, 1, kRingSimple});
  ASSERT_NE(call, nullptr);
  void* channel = StampJoin::channelStarted(call, 1000);
  CommContext::stopped(channel, 51000);
  ASSERT_EQ(gate.records().size(), 1U);
  EXPECT_EQ(gate.records()[0].taskKey, keyOf(task));
  EXPECT_EQ(gate.records()[0].asked, onVariant);
  EXPECT_EQ(gate.records()[0].inEffect, onVariant);
  EXPECT_EQ(gate.records()[0].finishedNs - gate.records()[0].arrivedNs, 50000);
}

TEST_F(Switched, OnlyWhatAllRanksHaveMadeCanRun) {
  EXPECT_TRUE(own.canRun(onVariant));
  EXPECT_TRUE(own.canRun(configOf(kRingSimple)));
  Config other = onVariant;
  other.extra = static_cast<uint8_t>(Variant::kNet);
  EXPECT_FALSE(own.canRun(other));
}

TEST_F(Switched, ARankInDoubtFailsTheCallBeforeItIsMade) {
  gate.broken = true;
  EXPECT_FALSE(own.decideAhead(task));
  EXPECT_FALSE(callNote.decided);
}

TEST_F(Switched, WithoutASessionTheCallGoesTheUsualWay) {
  own.setGate(nullptr);
  EXPECT_TRUE(own.decideAhead(task));
  EXPECT_FALSE(callNote.decided);
}

TEST_F(Switched, MakesNoAllocationLockOrSystemCall) {
  gate.answer = onVariant;
  const auto call = [this] {
    callNote.decided = false;
    (void)own.decideAhead(task);
    (void)ask(variant);
  };
  call();
  const autoccl::testing::Counted counted = autoccl::testing::countsOf(call);
  if (!counted.possible) GTEST_SKIP() << "this kernel refuses seccomp filters";
  EXPECT_EQ(counted.allocations, 0U);
  EXPECT_EQ(counted.locks, 0U);
  EXPECT_EQ(counted.systemCalls, 0);
}

}  // namespace
}  // namespace autoccl::nccl
