#include "edge/nccl/comm_context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>

#include "edge/nccl/guard.h"
#include "edge/nccl/testing/counted.h"
#include "edge/nccl/testing/script_gate.h"
#include "edge/nccl/tuner_calls.h"

namespace autoccl::nccl {
namespace {

constexpr Pair kTreeLL{kAlgoTree, kProtoLL};

/// Processor time of this thread: what others do beside it does not count.
double threadNs() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

/// A communicator of NCCL 2.28 with a scripted gate and NCCL's mask.
class Decide : public ::testing::Test {
 protected:
  void SetUp() override {
    sampling.attach(&mask, 5);
    context.setGate(&gate);
  }
  void TearDown() override { context.close(); }

  /// One call as NCCL asks it, all pairs possible at 5 us.
  Result ask(size_t nBytes = 4096, int pipeOps = 1) {
    table.fill(5.0F);
    nChannels = 0;
    return answerInTable(&context,
                         {kFuncAllReduce, nBytes, pipeOps, reinterpret_cast<CostRows>(table.data()),
                          kAlgos, kProtos},
                         &nChannels);
  }
  [[nodiscard]] bool tableIsUntouched() const {
    return std::all_of(table.begin(), table.end(), [](float us) { return us == 5.0F; });
  }

  Sampling sampling;
  int mask = -1;
  CommContext context{
      {.commId = 9, .rank = 0, .nRanks = 8, .nNodes = 1, .tunerVersion = 6, .profilerVersion = 5},
      sampling};
  testing::ScriptGate gate;
  PairCosts table{};
  int nChannels = 0;
};

TEST_F(Decide, AnUntouchedCallLeavesTableAndChannelsAlone) {
  EXPECT_EQ(ask(), Result::kSuccess);
  EXPECT_TRUE(tableIsUntouched());
  EXPECT_EQ(nChannels, 0);
  EXPECT_EQ(gate.taken, 1U);
}

TEST_F(Decide, AConfigForcesItsPairAndItsChannels) {
  gate.answer = configOf(kTreeLL);
  gate.answer.channels = 12;
  EXPECT_EQ(ask(), Result::kSuccess);
  EXPECT_EQ(table[0], 0.0F);
  EXPECT_EQ(std::count(table.begin(), table.end(), 5.0F), kAlgos * kProtos - 1);
  EXPECT_EQ(nChannels, 12);
}

TEST_F(Decide, ProbesThatRunNothingAreNotCounted) {
  (void)ask(4096, 0);  // 2.31's query for a symmetric kernel
  callNote.simulating = true;
  (void)ask();
  callNote.simulating = false;
  (void)ask(0);
  EXPECT_EQ(gate.taken, 0U);
  EXPECT_TRUE(tableIsUntouched());
}

TEST_F(Decide, CapturedCallsTakeNoTrial) {
  (void)ask();
  EXPECT_FALSE(gate.lastCalm);
  context.setCapturing(true);
  (void)ask();
  EXPECT_TRUE(gate.lastCalm);
  context.setCapturing(false);
  callNote.capturing = true;
  (void)ask();
  EXPECT_TRUE(gate.lastCalm);
  callNote.capturing = false;
}

TEST_F(Decide, TellsTheInterposerWhatItDecided) {
  callNote = {};
  gate.answer = configOf(kTreeLL);
  (void)ask();
  EXPECT_EQ(callNote.decisions, 1U);
  EXPECT_EQ(callNote.callIndex, 0U);
  EXPECT_EQ(callNote.asked, gate.answer);
  EXPECT_EQ(callNote.taskKey, keyOf(gate.lastTask));
  callNote = {};
}

TEST_F(Decide, ARankInDoubtFailsItsCallAndNoneThatEnds) {
  gate.broken = true;
  EXPECT_EQ(ask(), Result::kRemoteError);
  EXPECT_TRUE(tableIsUntouched());
  context.end();  // the program aborts: its calls are its own again
  EXPECT_EQ(ask(), Result::kSuccess);
}

TEST_F(Decide, AfterItsEndNothingIsTouched) {
  gate.answer = configOf(kTreeLL);
  context.close();
  EXPECT_EQ(ask(), Result::kSuccess);
  EXPECT_TRUE(tableIsUntouched());
  EXPECT_EQ(gate.taken, 0U);
  EXPECT_STREQ(context.why(), "its communicator has ended");
}

TEST_F(Decide, TheChunkIsThatOfTheCallDecidedLast) {
  gate.answer = configOf({kAlgoRing, kProtoSimple});
  gate.answer.chunk = 1 << 18;
  (void)ask();
  size_t bytes = 1 << 19;
  context.chunk(kFuncAllReduce, {kAlgoRing, kProtoSimple}, &bytes);
  EXPECT_EQ(bytes, 1U << 18);
  bytes = 77;
  context.chunk(kFuncAllReduce, {kAlgoRing, kProtoLL}, &bytes);  // NCCL took another pair
  context.chunk(kFuncBroadcast, {kAlgoRing, kProtoSimple}, &bytes);
  context.chunk(99, {99, 99}, &bytes);
  EXPECT_EQ(bytes, 77U);
  gate.answer = kUntouched;
  (void)ask();
  context.chunk(kFuncAllReduce, {kAlgoRing, kProtoSimple}, &bytes);
  EXPECT_EQ(bytes, 77U);
}

TEST_F(Decide, StampsComeBackAsTheCallsRecord) {
  (void)ask();  // the first one switches sampling on
  gate.answer = configOf(kTreeLL);
  (void)ask();
  const CollEvent event{kFuncAllReduce, 1024, 4, 2, kTreeLL};
  void* coll = context.collStarted(event);
  ASSERT_NE(coll, nullptr);
  void* first = StampJoin::channelStarted(coll, 1000);
  void* second = StampJoin::channelStarted(coll, 1100);
  CommContext::stopped(first, 3000);
  CommContext::stopped(second, 4000);
  const auto records = gate.records();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].callIndex, 1U);
  EXPECT_EQ(records[0].finishedNs - records[0].arrivedNs, 3000);
  EXPECT_EQ(records[0].inEffect, gate.answer);
}

TEST_F(Decide, AnotherPairThanAskedIsReportedAsWhatRan) {
  (void)ask();
  gate.answer = configOf(kTreeLL);
  (void)ask();
  void* coll = context.collStarted({kFuncAllReduce, 1024, 4, 1, Pair{kAlgoRing, kProtoLL}});
  CommContext::stopped(StampJoin::channelStarted(coll, 10), 20);
  ASSERT_EQ(gate.records().size(), 1U);
  EXPECT_EQ(gate.records()[0].inEffect, configOf({kAlgoRing, kProtoLL}));
  EXPECT_NE(gate.records()[0].inEffect, gate.records()[0].asked);
}

TEST_F(Decide, TheMaskFollowsWhatIsWanted) {
  EXPECT_EQ(mask, 0);
  (void)ask();
  EXPECT_EQ(mask, kEventColl | kEventKernelCh);
  gate.stage = TaskStage::kServed;
  (void)ask();
  EXPECT_EQ(mask, 0) << "the trials are over";
  gate.stage = TaskStage::kTrial;
  (void)ask();
  EXPECT_EQ(mask, kEventColl | kEventKernelCh) << "a check of the default begins";
  context.close();
  EXPECT_EQ(mask, 0);
}

TEST_F(Decide, StampsStayOnUntilTheLastTaskHasHadEnough) {
  (void)ask(4096);
  (void)ask(8192);
  gate.stage = TaskStage::kServed;
  (void)ask(4096);
  EXPECT_EQ(mask, kEventColl | kEventKernelCh);
  (void)ask(8192);
  EXPECT_EQ(mask, 0);
}

TEST_F(Decide, ATaskThatIsNeverCalledAgainDoesNotKeepStampsOn) {
  (void)ask(4096);
  gate.stage = TaskStage::kServed;
  for (int i = 0; i < 8192; ++i) (void)ask(8192);
  EXPECT_EQ(mask, 0);
}

TEST_F(Decide, ACallThatIsTimedOnItsStreamNeedsStampsOnlyWhileItsTaskIsYoung) {
  callNote = {};
  callNote.timed = true;
  gate.stage = TaskStage::kUntried;
  (void)ask();
  EXPECT_EQ(mask, kEventColl | kEventKernelCh);
  EXPECT_TRUE(callNote.measure && callNote.measureNext);
  gate.stage = TaskStage::kTrial;
  (void)ask();
  EXPECT_EQ(mask, 0);
  EXPECT_TRUE(callNote.measure && callNote.measureNext);
  callNote = {};
}

TEST_F(Decide, CallsOfASettledTaskAreMeasuredInRareWindowsAlone) {
  callNote = {};
  callNote.timed = true;
  gate.stage = TaskStage::kUntried;
  (void)ask();
  gate.stage = TaskStage::kServed;
  int measured = 0, announced = 0;
  for (int i = 1; i < 32768; ++i) {
    (void)ask();
    measured += callNote.measure;
    announced += callNote.measureNext;
    EXPECT_EQ(mask, 0);
  }
  callNote = {};
  EXPECT_EQ(measured, 2 * 64);
  EXPECT_EQ(announced, measured) << "each by the call before it";
}

TEST_F(Decide, ATimeOnTheStreamAndAStampSayWhichClockTheyAreOf) {
  callNote = {};
  (void)ask();  // switches stamps on
  callNote.timed = true;
  gate.answer = configOf(kTreeLL);
  (void)ask();
  void* coll = context.collStarted({kFuncAllReduce, 1024, 4, 1, kTreeLL});
  CommContext::stopped(StampJoin::channelStarted(coll, 10), 20);
  context.timed({callNote.taskKey, callNote.callIndex, callNote.asked, 30, 1000});
  callNote = {};
  const auto records = gate.records();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].clock, CallClock::kBesideStream);
  EXPECT_EQ(records[1].clock, CallClock::kStream);
}

TEST_F(Decide, NcclsOwnChoiceIsLearnedFromUntouchedCalls) {
  (void)ask();
  (void)ask();
  void* coll = context.collStarted({kFuncAllReduce, 1024, 4, 1, Pair{kAlgoNvls, kProtoSimple}});
  CommContext::stopped(StampJoin::channelStarted(coll, 10), 20);
  const std::string text = context.ownChoiceText(gate.lastTask);
  EXPECT_NE(text.find("nvls/simple with 1 channels"), std::string::npos) << text;
}

TEST_F(Decide, MakesNoAllocationLockOrSystemCall) {
  gate.answer = configOf(kTreeLL);
  (void)ask();
  const auto counted = autoccl::testing::countsOf([this] {
    (void)ask();
    void* coll = context.collStarted({kFuncAllReduce, 1024, 4, 1, kTreeLL});
    CommContext::stopped(StampJoin::channelStarted(coll, 10), 20);
  });
  EXPECT_EQ(counted.allocations, 0U);
  EXPECT_EQ(counted.systemCalls, 0);
  EXPECT_LE(counted.locks, 1001U);  // the scripted gate's own, one a report
}

TEST_F(Decide, TellsWhatADecisionTakes) {
  constexpr int kCalls = 200000;
  gate.answer = configOf(kTreeLL);
  (void)ask();
  const double start = threadNs();
  for (int i = 0; i < kCalls; ++i) (void)ask();
  const double each = (threadNs() - start) / kCalls;
  RecordProperty("ns_per_decision", std::to_string(each));
  std::printf("a decision takes %.0f ns of its thread\n", each);
}

TEST(Guarded, WhatIsThrownStaysInside) {
  EXPECT_EQ(guarded([] { throw std::runtime_error("inside decide"); }), Result::kSuccess);
  EXPECT_EQ(guarded([] { throw 1; }), Result::kSuccess);
}

TEST(Sampling, OneCommunicatorThatWantsEventsIsEnough) {
  Sampling sampling;
  int mask = 0;
  sampling.want();
  sampling.attach(&mask, 4);
  EXPECT_EQ(mask, kEventColl | kEventKernelCh);
  sampling.want();
  sampling.unwant();
  EXPECT_EQ(mask, kEventColl | kEventKernelCh);
  sampling.unwant();
  EXPECT_EQ(mask, 0);
  sampling.attach(&mask, 7);  // 2.31: capture is not learned from it
  EXPECT_EQ(mask, 0);
  int old = 99;
  Sampling none;
  none.attach(&old, 3);
  none.want();
  EXPECT_EQ(old, 0);
}

TEST(Sampling, ApiEventsComeWhileSomebodyListens) {
  Sampling sampling;
  int mask = 99;
  sampling.attach(&mask, 5);
  EXPECT_EQ(mask, 0);
  sampling.listen();
  EXPECT_EQ(mask, kEventCollApi);
  sampling.want();
  EXPECT_EQ(mask, kEventCollApi | kEventColl | kEventKernelCh);
  sampling.unwant();
  sampling.unlisten();
  EXPECT_EQ(mask, 0);
}

}  // namespace
}  // namespace autoccl::nccl
