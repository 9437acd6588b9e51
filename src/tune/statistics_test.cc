#include "tune/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/surface.h"
#include "tune/confirmation.h"

namespace autoccl {
namespace {

std::vector<double> noisy(double us, double sd, int n, uint64_t seed) {
  Noise::Options options;
  options.seed = seed;
  options.sd = sd;
  options.stragglers = 0.02;
  Noise noise(options);
  std::vector<double> v;
  v.reserve(n);
  for (int i = 0; i < n; ++i) v.push_back(noise.measure(us));
  return v;
}

Interval lowOf(double low) {
  Interval interval;
  interval.low = low;
  return interval;
}

TEST(Median, IsTheMiddleAndForgetsAStraggler) {
  EXPECT_EQ(median(std::vector<double>{}), 0);
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median(std::vector<double>{1, 1, 1e9}), 1);
}

TEST(RobustSd, MatchesTheNoiseItIsGiven) {
  for (const double sd : {0.02, 0.1}) {
    std::vector<double> logs = noisy(100, sd, 2000, 5);
    for (double& x : logs) x = std::log(x);
    EXPECT_NEAR(robustSd(logs), sd, 0.1 * sd);
  }
  EXPECT_EQ(robustSd(std::vector<double>{1}), 0);
}

TEST(StudentQuantile, AgreesWithTheTables) {
  EXPECT_NEAR(studentQuantile(0.05, 1), 12.706, 0.01);
  EXPECT_NEAR(studentQuantile(0.05, 2), 4.303, 0.01);
  EXPECT_NEAR(studentQuantile(0.05, 3), 3.182, 0.03);
  EXPECT_NEAR(studentQuantile(0.05, 11), 2.201, 0.01);
  EXPECT_NEAR(studentQuantile(0.01, 30), 2.750, 0.01);
}

TEST(PairedInterval, HoldsTheTruthInNineteenOfTwentyCases) {
  int held = 0;
  constexpr int kRuns = 1000;
  for (int run = 0; run < kRuns; ++run) {
    const auto a = noisy(120, 0.05, 16, uint64_t(run) + 1),
               b = noisy(100, 0.05, 16, uint64_t(run) + 90001);
    std::vector<double> ratios;
    for (size_t i = 0; i < a.size(); ++i) ratios.push_back(std::log(a[i] / b[i]));
    const Interval interval = pairedInterval(ratios, 0.05);
    held += interval.low <= std::log(1.2) && std::log(1.2) <= interval.high;
  }
  EXPECT_GE(held, kRuns * 92 / 100);
}

TEST(PairedInterval, KnowsNothingFromOnePair) {
  const Interval interval = pairedInterval(std::vector<double>{0.3}, 0.05);
  EXPECT_TRUE(std::isinf(interval.high));
  EXPECT_TRUE(std::isinf(-interval.low));
}

TEST(SelfHalfWidth, GrowsWithTheNoiseAndIsZeroWithout) {
  std::vector<std::vector<double>> calm(10, {5, 5}), rough;
  for (uint64_t i = 0; i < 10; ++i) rough.push_back(noisy(5, 0.1, 2, i + 1));
  EXPECT_EQ(selfHalfWidth(calm), 0);
  EXPECT_GT(selfHalfWidth(rough), 0.02);
}

TEST(NeverSlower, AllowsOnePercentOrTheSelfHalfWidth) {
  EXPECT_TRUE(neverSlower(lowOf(-0.009), 0));
  EXPECT_FALSE(neverSlower(lowOf(-0.02), 0));
  EXPECT_TRUE(neverSlower(lowOf(-0.02), 0.03));
}

}  // namespace
}  // namespace autoccl
