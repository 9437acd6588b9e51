#include "edge/session/task_clocks.h"

#include <gtest/gtest.h>

namespace autoccl {
namespace {

constexpr uint64_t kTask = 7;

/// A call of both ranks that took so long by this clock.
void put(TaskClocks& clocks, CallClock clock, uint64_t index, int64_t ns) {
  for (int rank = 0; rank < 2; ++rank)
    clocks.put(rank, {kTask, index, kUntouched, 1000, 1000 + ns, 0, clock});
}

TaskClocks onStreams() {
  return {2, JoinRule::kOwnDurations, true};
}

TEST(TaskClocks, WithoutStreamsEveryCallPasses) {
  TaskClocks clocks(2, JoinRule::kOwnDurations, false);
  put(clocks, CallClock::kEngine, 0, 5000);
  ASSERT_EQ(clocks.take().size(), 1u);
  EXPECT_FALSE(clocks.onStream(kTask));
}

TEST(TaskClocks, ATimeOnTheStreamMakesTheStreamsClockTheTasks) {
  TaskClocks clocks = onStreams();
  put(clocks, CallClock::kEngine, 0, 4000);
  put(clocks, CallClock::kStream, 1, 9000);
  put(clocks, CallClock::kBesideStream, 1, 5000);
  const auto calls = clocks.take();
  ASSERT_EQ(calls.size(), 1u) << "the two clocks are never mixed";
  EXPECT_EQ(calls[0].callIndex, 1u);
  EXPECT_DOUBLE_EQ(calls[0].us, 9.0);
  EXPECT_TRUE(clocks.onStream(kTask));
  EXPECT_DOUBLE_EQ(clocks.besideUs(kTask, kUntouched), 4.5);
}

TEST(TaskClocks, AStampOfACallThatIsTimedOnItsStreamSettlesItBeforeTheStreamDoes) {
  TaskClocks clocks = onStreams();
  put(clocks, CallClock::kBesideStream, 0, 5000);
  for (uint64_t i = 1; i < 2 * TaskClocks::kEngineOnly; ++i)
    put(clocks, CallClock::kEngine, i, 5000);
  EXPECT_TRUE(clocks.take().empty());
  EXPECT_TRUE(clocks.onStream(kTask));
}

TEST(TaskClocks, CallsThatNobodyTimesOnTheirStreamAreHeldBackAndThenPass) {
  TaskClocks clocks = onStreams();
  for (uint64_t i = 0; i + 1 < TaskClocks::kEngineOnly; ++i)
    put(clocks, CallClock::kEngine, i, 5000);
  EXPECT_TRUE(clocks.take().empty());
  put(clocks, CallClock::kEngine, TaskClocks::kEngineOnly, 5000);
  EXPECT_EQ(clocks.take().size(), TaskClocks::kEngineOnly);
  EXPECT_FALSE(clocks.onStream(kTask));
  put(clocks, CallClock::kEngine, 99, 5000);
  EXPECT_EQ(clocks.take().size(), 1u);
}

TEST(TaskClocks, TheLastArriversTimeCountsOnTheStreamToo) {
  TaskClocks clocks = onStreams();
  clocks.put(0, {kTask, 0, kUntouched, 1000, 61000, 0, CallClock::kStream});  // waited for rank 1
  clocks.put(1, {kTask, 0, kUntouched, 7000, 16000, 0, CallClock::kStream});
  const auto calls = clocks.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_DOUBLE_EQ(calls[0].us, 9.0);
}

}  // namespace
}  // namespace autoccl
