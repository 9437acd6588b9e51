#include "edge/session/step_clock.h"

#include <gtest/gtest.h>

namespace autoccl {
namespace {

constexpr int64_t kMs = 1'000'000;

/// Two calls a step of 10 ms, as issued.
void callSteps(StepClock& clock, int steps) {
  for (int i = 0; i < steps; ++i) {
    clock.call(1, 10 * kMs * i);
    clock.call(2, 10 * kMs * i + kMs);
  }
}

TEST(StepClock, StepsAreCountedOnWhenSingleCallsAreNoLongerTold) {
  StepClock clock;
  callSteps(clock, 20);
  EXPECT_FALSE(clock.take().empty());
  clock.counted(40, 1000 * kMs);
  EXPECT_TRUE(clock.take().empty()) << "counting begins";
  clock.counted(50, 1050 * kMs);
  EXPECT_TRUE(clock.take().empty()) << "too short for a mean";
  clock.counted(60, 1120 * kMs);
  const auto steps = clock.take();
  ASSERT_EQ(steps.size(), 10u);
  EXPECT_DOUBLE_EQ(steps[0].ms, 12);
}

TEST(StepClock, WithoutAKnownLengthCountingGivesNoSteps) {
  StepClock clock;
  clock.counted(10, kMs);
  clock.counted(1000, 1000 * kMs);
  EXPECT_TRUE(clock.take().empty());
}

TEST(StepClock, CountingBeginsAnewAfterSingleCalls) {
  StepClock clock;
  callSteps(clock, 20);
  clock.counted(40, 1000 * kMs);
  callSteps(clock, 20);
  (void)clock.take();
  clock.counted(80, 9000 * kMs);
  EXPECT_TRUE(clock.take().empty()) << "no step of seconds";
}

}  // namespace
}  // namespace autoccl
