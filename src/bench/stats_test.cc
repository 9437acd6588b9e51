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

TEST(BenchStats, TheIntervalIsStudentsOfTheLogarithms) {
  // Logs of the ratios are -1, 0, 1: mean 0, standard error 1/sqrt(3), t = 4.303 for two degrees.
  const std::vector<double> ours = {1, 1, 1};
  const std::vector<double> theirs = {std::exp(-1), 1, std::exp(1)};
  const RatioInterval r = ratioOverRounds(theirs, ours);
  EXPECT_NEAR(r.middle, 1, 1e-12);
  EXPECT_NEAR(r.high, std::exp(4.303 / std::sqrt(3.0)), 1e-9);
  EXPECT_NEAR(r.low * r.high, 1, 1e-12);
}

TEST(BenchStats, OneRoundBoundsNothing) {
  const std::vector<double> one = {2};
  const RatioInterval r = ratioOverRounds(one, one);
  EXPECT_EQ(r.low, 0);
  EXPECT_EQ(r.high, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace autoccl::bench
