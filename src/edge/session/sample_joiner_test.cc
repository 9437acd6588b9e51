#include "edge/session/sample_joiner.h"

#include <gtest/gtest.h>

namespace autoccl {
namespace {

CallSample stamp(uint64_t index, int64_t arrived, int64_t finished) {
  CallSample s;
  s.taskKey = 7;
  s.callIndex = index;
  s.arrivedNs = arrived;
  s.finishedNs = finished;
  return s;
}

TEST(SampleJoiner, TimeIsLastFinishMinusLastArrival) {
  SampleJoiner joiner(2, JoinRule::kSharedClock);
  joiner.put(0, stamp(0, 1000, 9000));
  EXPECT_TRUE(joiner.take().empty());
  joiner.put(1, stamp(0, 4000, 8000));
  const auto calls = joiner.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_DOUBLE_EQ(calls[0].us, 5.0);
  EXPECT_FALSE(calls[0].failed);
}

TEST(SampleJoiner, RanksThatRanDifferentConfigsMakeAFailedSample) {
  SampleJoiner joiner(2, JoinRule::kSharedClock);
  CallSample a = stamp(3, 0, 10), b = stamp(3, 0, 10);
  b.inEffect.channels = 2;
  joiner.put(0, a);
  joiner.put(1, b);
  const auto calls = joiner.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(calls[0].failed);
}

TEST(SampleJoiner, ACallThatEndsBeforeItBeginsIsDiscardedAndCounted) {
  SampleJoiner joiner(2, JoinRule::kSharedClock);
  joiner.put(0, stamp(0, 10, 20));
  joiner.put(1, stamp(0, 30, 25));
  EXPECT_TRUE(joiner.take().empty());
  EXPECT_EQ(joiner.discarded(), 1u);
}

TEST(SampleJoiner, CallsThatARankNeverReportsAreGivenUp) {
  SampleJoiner joiner(2, JoinRule::kSharedClock);
  for (uint64_t i = 0; i < 10000; ++i) joiner.put(0, stamp(i, 1, 2));
  EXPECT_GE(joiner.discarded(), 10000u - 4097u);
}

TEST(SampleJoiner, HoldsABoundedNumberOfTasks) {
  SampleJoiner joiner(2, JoinRule::kSharedClock);
  for (uint64_t key = 1; key <= 5000; ++key) {
    CallSample s = stamp(0, 1, 2);
    s.taskKey = key;
    joiner.put(0, s);
  }
  EXPECT_EQ(joiner.discarded(), 5000u - 4096u);
}

TEST(SampleJoiner, WithoutACommonClockTheTimeIsTheLeastOfTheRanksOwnDurations) {
  SampleJoiner joiner(3, JoinRule::kOwnDurations);
  constexpr int64_t kSkew[] = {0, -7'000'000'000'000, 123'456'789};
  // Ranks arrive at 0, 2 and 5 us of one true clock and are all done at 9 us.
  constexpr int64_t kArrived[] = {0, 2000, 5000};
  for (int rank = 2; rank >= 0; --rank)
    joiner.put(rank, stamp(4, kArrived[rank] + kSkew[rank], 9000 + kSkew[rank]));
  const auto calls = joiner.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_DOUBLE_EQ(calls[0].us, 4.0) << "the last arriver's, which waited for nobody";
  EXPECT_EQ(calls[0].atNs, 9000) << "on rank 0's clock";
}

TEST(SampleJoiner, WithoutACommonClockARankThatEndsBeforeItBeginsSpoilsTheCall) {
  SampleJoiner joiner(2, JoinRule::kOwnDurations);
  joiner.put(0, stamp(0, 10, 20));
  joiner.put(1, stamp(0, 30, 30));
  EXPECT_TRUE(joiner.take().empty());
  EXPECT_EQ(joiner.discarded(), 1u);
}

TEST(SampleJoiner, OneClockMayHaveAnyOrigin) {
  SampleJoiner joiner(2, JoinRule::kSharedClock);
  joiner.put(0, stamp(0, -9000, -1000));
  joiner.put(1, stamp(0, -6000, -2000));
  const auto calls = joiner.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_DOUBLE_EQ(calls[0].us, 5.0);
}

}  // namespace
}  // namespace autoccl
