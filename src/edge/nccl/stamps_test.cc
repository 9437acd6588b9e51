#include "edge/nccl/stamps.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace autoccl::nccl {
namespace {

constexpr Pair kRingSimple{kAlgoRing, kProtoSimple};

DecidedCall call(uint64_t index, uint64_t bytes, int func = kFuncAllReduce) {
  return {1, index, configOf(kRingSimple), func, bytes};
}

std::optional<StampedCall> run(StampJoin& join, void* coll, int channels, uint64_t start,
                               uint64_t stop) {
  std::optional<StampedCall> done;
  std::vector<void*> handles;
  handles.reserve(channels);
  for (int c = 0; c < channels; ++c)
    handles.push_back(StampJoin::channelStarted(coll, start + static_cast<uint64_t>(c)));
  for (int c = 0; c < channels; ++c)
    if (auto d =
            join.channelStopped(handles[static_cast<size_t>(c)], stop - static_cast<uint64_t>(c)))
      done = d;
  return done;
}

TEST(StampJoin, ACallsTimeIsLastStopMinusFirstStartOfItsChannels) {
  StampJoin join(nullptr);
  join.decided(call(7, 4096));
  const auto done = run(join, join.collStarted(kFuncAllReduce, 4096, 4, kRingSimple), 4, 100, 900);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->call.callIndex, 7U);
  EXPECT_EQ(done->startTimer, 100U);
  EXPECT_EQ(done->stopTimer, 900U);
  EXPECT_EQ(done->channels, 4);
  EXPECT_EQ(done->ran, kRingSimple);
  EXPECT_EQ(join.dropped(), 0U);
}

TEST(StampJoin, CollectivesThatNcclJoinedMakeOneCall) {
  StampJoin join(nullptr);
  join.decided(call(0, 3000));
  void* first = join.collStarted(kFuncAllReduce, 1000, 2, kRingSimple);
  EXPECT_FALSE(run(join, first, 2, 100, 500));  // its channels may stop before the next begins
  void* second = join.collStarted(kFuncAllReduce, 2000, 1, kRingSimple);
  const auto done = run(join, second, 1, 120, 800);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->startTimer, 100U);
  EXPECT_EQ(done->stopTimer, 800U);
}

TEST(StampJoin, AnEventThatFitsTwoDecisionsIsNobodys) {
  StampJoin join(nullptr);
  join.decided(call(0, 4096));  // asked for a simulated group: never run
  join.decided(call(1, 4096));
  EXPECT_EQ(join.collStarted(kFuncAllReduce, 4096, 1, kRingSimple), nullptr);
  join.decided(call(2, 4096));  // and from here on they are in step again
  const auto done = run(join, join.collStarted(kFuncAllReduce, 4096, 1, kRingSimple), 1, 5, 9);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->call.callIndex, 2U);
  EXPECT_GT(join.dropped(), 0U);
}

TEST(StampJoin, EventsOfOtherFunctionsAndSizesAreNotTaken) {
  StampJoin join(nullptr);
  join.decided(call(0, 4096));
  EXPECT_EQ(join.collStarted(kFuncBroadcast, 4096, 1, kRingSimple), nullptr);
  EXPECT_EQ(join.collStarted(kFuncAllReduce, 8192, 1, kRingSimple), nullptr);
  EXPECT_EQ(StampJoin::channelStarted(nullptr, 5), nullptr);
  EXPECT_FALSE(join.channelStopped(nullptr, 5));
}

TEST(StampJoin, AStopBeforeItsStartIsDroppedAndCounted) {
  StampJoin join(nullptr);
  join.decided(call(0, 4096));
  EXPECT_FALSE(run(join, join.collStarted(kFuncAllReduce, 4096, 1, kRingSimple), 1, 900, 100));
  EXPECT_EQ(join.dropped(), 1U);
}

TEST(StampJoin, WhatWasDecidedBeforeSamplingPausedWaitsForNothing) {
  StampJoin join(nullptr);
  join.decided(call(0, 4096));
  join.restart();
  EXPECT_EQ(join.collStarted(kFuncAllReduce, 4096, 1, kRingSimple), nullptr);
}

TEST(StampJoin, ALateEventOfAReusedSlotChangesNothing) {
  StampJoin join(nullptr);
  join.decided(call(0, 4096));
  void* late = join.collStarted(kFuncAllReduce, 4096, 1, kRingSimple);
  for (uint64_t i = 1; i <= 256; ++i) join.decided(call(i, 64 + i));
  EXPECT_EQ(StampJoin::channelStarted(late, 5), nullptr);
  EXPECT_FALSE(join.channelStopped(late, 9));
}

TEST(StampJoin, LaunchingAndProgressThreadsShareItWithoutLoss) {
  StampJoin join(nullptr);
  constexpr uint64_t kCalls = 2000;
  std::atomic<void*> handed{nullptr};
  uint64_t seen = 0;
  std::thread progress([&] {
    for (uint64_t i = 0; i < kCalls; ++i) {
      void* coll = nullptr;
      while ((coll = handed.exchange(nullptr)) == nullptr) std::this_thread::yield();
      if (run(join, coll, 3, 10 * i + 1, 10 * i + 8)) ++seen;
    }
  });
  for (uint64_t i = 0; i < kCalls; ++i) {
    join.decided(call(i, 4096));
    void* coll = join.collStarted(kFuncAllReduce, 4096, 3, kRingSimple);
    ASSERT_NE(coll, nullptr);
    handed.store(coll);
    while (handed.load() != nullptr) std::this_thread::yield();
  }
  progress.join();
  EXPECT_EQ(seen, kCalls);
}

}  // namespace
}  // namespace autoccl::nccl
