#include "model/cost.h"

#include <gtest/gtest.h>

#include "model/surface.h"

namespace autoccl {
namespace {

CostParameters parameters() {
  CostParameters p;
  p.startUs0 = 10;
  p.peak0 = 10e3;
  p.startUs1 = 0.1;
  p.peak1 = 20e3;
  p.perByte = 1e-7;
  p.perWorker = 1e-4;
  return p;
}

Config configOf(uint16_t nc, uint16_t nt, uint32_t c) {
  return {Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, nc, nt, c};
}

TEST(Cost, BandwidthsAreEquationsFourAndFive) {
  const CostParameters p = parameters();
  const Config c = configOf(4, 128, 65536);
  const double x = 4.0 * 65536, w = 4.0 * 128, gamma = 1 / (1 + 1e-7 * x + 1e-4 * w);
  EXPECT_DOUBLE_EQ(congestion(p, c), gamma);
  EXPECT_DOUBLE_EQ(transportBandwidth(p, c), x / (10 + x / (10e3 * gamma)));
  EXPECT_DOUBLE_EQ(workerBandwidth(p, c), w / (0.1 + w / (20e3 * gamma)));
}

TEST(Cost, TimeIsThatOfTheSlowerPhaseEquationOne) {
  CostParameters p = parameters();
  const Config c = configOf(4, 128, 65536);  // 4 whole rounds of 256 KiB
  EXPECT_DOUBLE_EQ(costUs(p, 1 << 20, c),
                   (1 << 20) / std::min(transportBandwidth(p, c), workerBandwidth(p, c)));
  p.startUs1 = 10;
  EXPECT_DOUBLE_EQ(costUs(p, 1 << 20, c), (1 << 20) / workerBandwidth(p, c));
}

TEST(Cost, APartlyFilledRoundStartsLikeAWholeOne) {
  CostParameters p = parameters();
  p.startUs1 = 0;  // transport decides
  const Config c = configOf(4, 128, 65536);
  EXPECT_GT(costUs(p, (1 << 20) + 64, c) - costUs(p, 1 << 20, c), 0.9 * p.startUs0);
}

TEST(Cost, CongestionFallsAsChannelsThreadsAndChunksGrow) {
  const CostParameters p = parameters();
  EXPECT_GT(congestion(p, configOf(1, 96, 4096)), congestion(p, configOf(2, 96, 4096)));
  EXPECT_GT(congestion(p, configOf(1, 96, 4096)), congestion(p, configOf(1, 192, 4096)));
  EXPECT_GT(congestion(p, configOf(1, 96, 4096)), congestion(p, configOf(1, 96, 8192)));
  EXPECT_LE(congestion(p, configOf(1, 1, 1)), 1);
}

TEST(Cost, EveryAxisHasOnePeak) {
  const CostParameters p = parameters();
  int turns = 0;
  double last = 1e300;
  bool rising = false;
  for (uint32_t c = 1024; c <= 1u << 26; c *= 2) {
    const double us = costUs(p, 1 << 26, configOf(4, 128, c));
    if (us > last && !rising) rising = true, ++turns;
    if (us < last && rising) rising = false, ++turns;
    last = us;
  }
  EXPECT_LE(turns, 1);
}

TEST(Surface, IsAFunctionOfItsSeedAndItsOracleIsTheLeast) {
  Surface::Options options;
  options.seed = 12;
  const Surface a(options), b(options);
  EXPECT_EQ(a.space().task.bytes, b.space().task.bytes);
  EXPECT_DOUBLE_EQ(a.oracleUs(), b.oracleUs());
  const Subspace& s = a.space().subspaces[3];
  EXPECT_DOUBLE_EQ(a.trueUs(s.at(2, 3, 4)), b.trueUs(s.at(2, 3, 4)));
  EXPECT_LE(a.oracleUs(), a.trueUs(s.at(2, 3, 4)));
  EXPECT_LE(a.oracleUs(), a.trueUs(a.space().fallback));
}

TEST(Surface, AFlatOneGivesEveryConfigTheSameTime) {
  Surface::Options options;
  options.flat = true;
  const Surface s(options);
  EXPECT_DOUBLE_EQ(s.trueUs(s.space().fallback), s.oracleUs());
  EXPECT_DOUBLE_EQ(s.trueUs(s.space().subspaces[0].at(0, 0, 0)), s.oracleUs());
}

}  // namespace
}  // namespace autoccl
