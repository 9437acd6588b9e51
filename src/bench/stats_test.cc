#include "bench/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace autoccl::bench {
namespace {

TEST(BenchStats, QuantilesAreInterpolatedBetweenNeighbours) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

TEST(BenchStats, ARatioThatIsTheSameInEveryRoundHasNoWidth) {
  const std::vector<double> ours = {1, 2, 4};
  const std::vector<double> theirs = {3, 6, 12};
  const RatioInterval r = ratioOverRounds(theirs, ours);
  EXPECT_NEAR(r.low, 3, 1e-12);
  EXPECT_NEAR(r.middle, 3, 1e-12);
  EXPECT_NEAR(r.high, 3, 1e-12);
}

// The published critical value of the signed-rank test for seven values at 5 % (two-sided) is 2, so
// the interval runs from the third smallest to the third largest pairwise mean.
TEST(BenchStats, TheIntervalOfSevenRoundsIsWilcoxons) {
  const std::vector<double> logs = {0, 1, 2, 4, 8, 16, 32};
  std::vector<double> theirs;
  theirs.reserve(logs.size());
  for (const double x : logs) theirs.push_back(std::exp(x));
  const RatioInterval r = ratioOverRounds(theirs, std::vector<double>(7, 1.0));
  // Pairwise means ascend 0, 0.5, 1, 1, ... and end ..., 18, 20, 24, 32.
  EXPECT_NEAR(std::log(r.low), 1, 1e-9);
  EXPECT_NEAR(std::log(r.high), 20, 1e-9);
}

TEST(BenchStats, ADisturbedRoundDoesNotMoveTheRatio) {
  const std::vector<double> ours = {1, 1, 1, 1, 1, 1, 1};
  const std::vector<double> theirs = {2, 2, 2, 2, 2, 2, 2000};
  const RatioInterval r = ratioOverRounds(theirs, ours);
  EXPECT_NEAR(r.middle, 2, 1e-9);
  EXPECT_NEAR(r.low, 2, 1e-9);
}

TEST(BenchStats, OneRoundBoundsNothing) {
  const std::vector<double> one = {2};
  const RatioInterval r = ratioOverRounds(one, one);
  EXPECT_EQ(r.low, 0);
  EXPECT_EQ(r.high, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace autoccl::bench
