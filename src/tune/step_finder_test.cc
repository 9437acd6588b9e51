#include "tune/step_finder.h"

#include <gtest/gtest.h>

namespace autoccl {
namespace {

/// Feeds `steps` steps of the given tasks, one call per 10 ns, and returns the lengths found.
std::vector<int64_t> feed(StepFinder& finder, const std::vector<uint64_t>& step, int steps,
                          int64_t& now) {
  std::vector<int64_t> lengths;
  for (int s = 0; s < steps; ++s)
    for (const uint64_t key : step) {
      if (const auto ns = finder.put(key, now)) lengths.push_back(*ns);
      now += 10;
    }
  return lengths;
}

TEST(StepFinder, FindsThePeriodOfATrainingLoop) {
  StepFinder finder;
  int64_t now = 0;
  const auto lengths = feed(finder, {1, 2, 3, 4, 2}, 20, now);
  EXPECT_EQ(finder.period(), 5u);
  ASSERT_GE(lengths.size(), 10u);
  for (const int64_t ns : lengths) EXPECT_EQ(ns, 50);
}

TEST(StepFinder, EqualLayersAreNotTakenForStepsForLong) {
  StepFinder finder;
  int64_t now = 0;
  std::vector<uint64_t> step(30, 7);
  step.push_back(8);
  feed(finder, step, 40, now);
  EXPECT_EQ(finder.period(), step.size());
}

TEST(StepFinder, AnEvaluationBetweenStepsOnlyInterrupts) {
  StepFinder finder;
  int64_t now = 0;
  feed(finder, {1, 2, 3}, 10, now);
  feed(finder, {9}, 1, now);
  const auto lengths = feed(finder, {1, 2, 3}, 30, now);
  EXPECT_EQ(finder.period(), 3u);
  EXPECT_GE(lengths.size(), 10u);
}

TEST(StepFinder, NoPeriodNoStep) {
  StepFinder finder;
  for (uint64_t i = 0; i < 10000; ++i) EXPECT_FALSE(finder.put(i, static_cast<int64_t>(i)));
  EXPECT_EQ(finder.period(), 0u);
}

TEST(StepFinder, LongStepsAreFoundInsideTheWindow) {
  StepFinder finder;
  int64_t now = 0;
  std::vector<uint64_t> step;
  for (uint64_t i = 0; i < 600; ++i) step.push_back(i % 7 ? i : 3);
  feed(finder, step, 12, now);
  EXPECT_EQ(finder.period(), 600u);
}

}  // namespace
}  // namespace autoccl
