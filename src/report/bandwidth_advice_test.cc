#include "report/bandwidth_advice.h"

#include <gtest/gtest.h>

namespace autoccl {
namespace {

using nccl::BenchRow;
using nccl::BenchTable;

BenchTable tableOf(const std::vector<std::pair<uint64_t, double>>& busbw, int ranks = 8,
                   int hosts = 1) {
  BenchTable t;
  t.file = "f";
  t.ranks = ranks;
  t.hosts = hosts;
  size_t line = 10;
  const double factor = 2.0 * (ranks - 1) / ranks;
  for (const auto& [bytes, bw] : busbw) {
    BenchRow row;
    row.bytes = bytes;
    row.type = "float";
    row.line = line++;
    row.out = {static_cast<double>(bytes) / (bw / factor) / 1000, bw / factor, bw, 0};
    row.in = row.out;
    t.rows.push_back(row);
  }
  return t;
}

/// Times alpha + n/B, as bus bandwidths.
BenchTable lineTable(double alphaUs, double GBps, int ranks, int hosts) {
  std::vector<std::pair<uint64_t, double>> rows;
  const double factor = 2.0 * (ranks - 1) / ranks;
  for (uint64_t n = 1 << 16; n <= uint64_t{1} << 30; n *= 4)
    rows.emplace_back(n, factor * static_cast<double>(n) /
                             (alphaUs + static_cast<double>(n) / GBps / 1000) / 1000);
  return tableOf(rows, ranks, hosts);
}

const Finding* of(const std::vector<Finding>& all, const std::string& rule) {
  for (const Finding& f : all)
    if (f.rule == rule) return &f;
  return nullptr;
}

constexpr uint64_t kMiB = 1 << 20;

// Case 22: 32.6 at 32 MB, 19.1 at 64 MB, 42.6 at 256 MB.
TEST(BandwidthAdvice, ADipIsNamedWithItsSize) {
  const auto found = tableFindings(tableOf({{8 * kMiB, 20},
                                            {16 * kMiB, 27},
                                            {32 * kMiB, 32.6},
                                            {64 * kMiB, 19.1},
                                            {128 * kMiB, 38},
                                            {256 * kMiB, 42.6}}),
                                   {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].where, "f:13");
  EXPECT_EQ(found[0].what, "busbw dips to 19.1 GB/s at 64M, between 32.6 and 38.0");
}

// Case 68: fine to 64 KB, then a fall that does not come back.
TEST(BandwidthAdvice, ACliffIsNamedWithItsSize) {
  const auto found = tableFindings(
      tableOf({{16384, 1}, {32768, 2}, {65536, 4}, {131072, 0.05}, {262144, 0.05}, {524288, 0.06}}),
      {});
  const Finding* f = of(found, "bandwidth-cliff");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->where, "f:13");
}

// Case 26: the wrong run is not slower; only the error column shows it.
TEST(BandwidthAdvice, WrongResultsAreNamedWhateverTheSpeed) {
  BenchTable t = tableOf({{256 * kMiB, 100}, {512 * kMiB, 101}});
  t.rows[1].out.wrong = 7;
  const auto wrong = tableFindings(t, {});
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_EQ(wrong[0].what, "wrong results at 512M: 7.00 elements");
  t.countsWrong = false;
  t.rows[1].out.wrong = 5e-7;
  EXPECT_EQ(of(tableFindings(t, {}), "bandwidth-wrong"), nullptr) << "rounding";
  t.rows[1].out.wrong = 0.5;
  EXPECT_NE(of(tableFindings(t, {}), "bandwidth-wrong"), nullptr);
}

// Pitfall 1 (H24) and H7: utilisation below 70 %.
TEST(BandwidthAdvice, BelowTheShareOfTheLimitTheNextCandidatesAreNamed) {
  BandwidthQuestion q;
  q.limitGBps = 100;
  q.candidates = "Tree/LL128 1.2 ms";
  const BenchTable t = tableOf({{kMiB, 20}, {64 * kMiB, 40}});
  const auto found = tableFindings(t, q);
  const Finding* f = of(found, "bandwidth-below-limit");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->what, "the best busbw is 40.0 GB/s, 40 % of the path's 100");
  EXPECT_EQ(f->fix, "by the model next: Tree/LL128 1.2 ms");
  q.enough = 0.3;
  EXPECT_EQ(of(tableFindings(t, q), "bandwidth-below-limit"), nullptr);
}

TEST(BandwidthAdvice, TheFitIsTheLineBehindTheTimes) {
  const auto fit = fitOf(lineTable(100, 20, 8, 1));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->alphaUs, 100, 0.01);
  EXPECT_NEAR(fit->GBps, 20, 0.001);
  EXPECT_NEAR(fit->halfBytes, 2e6, 200);
}

// Pitfalls 2 and 3 (H25, H26): messages and chunks below the half-bandwidth size.
TEST(BandwidthAdvice, SmallMessagesAreToldWhatSendingThemTogetherGives) {
  BandwidthQuestion q;
  q.messageBytes = 1000000;
  const auto found = tableFindings(lineTable(100, 20, 8, 1), q);
  const Finding* f = of(found, "bandwidth-small-messages");
  ASSERT_NE(f, nullptr);
  // Half-bandwidth size 2 MB: 1 MB has a third of the bandwidth; 8 MB together 80 %: 2.4x.
  EXPECT_NE(f->consequence.find("33 % of the bandwidth"), std::string::npos) << f->consequence;
  EXPECT_NE(f->fix.find("send 8.00 of them as one"), std::string::npos) << f->fix;
  EXPECT_NE(f->fix.find("2.40x"), std::string::npos) << f->fix;
  q.messageBytes = 3000000;
  EXPECT_EQ(of(tableFindings(lineTable(100, 20, 8, 1), q), "bandwidth-small-messages"), nullptr);
}

// Pitfall 4 (H27) and G2: 8 to 32 ranks took AllReduce from 15 to 120 ms.
TEST(BandwidthAdvice, WhyMoreRanksAreSlowerIsTheLevelWhoseBandwidthFell) {
  const auto f = scalingFinding(lineTable(10, 120, 8, 1), lineTable(20, 15, 32, 4));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->rule, "bandwidth-scaling");
  EXPECT_NE(f->consequence.find("a ring moves only 1.11x the bytes, in 62 steps instead of 14"),
            std::string::npos)
      << f->consequence;
  EXPECT_NE(f->consequence.find("between hosts is 29.1 GB/s where inside a host 210 flow"),
            std::string::npos)
      << f->consequence;
  EXPECT_NE(f->fix.find("reduce in groups of 8.00 ranks"), std::string::npos) << f->fix;
  EXPECT_FALSE(scalingFinding(lineTable(10, 120, 8, 1), lineTable(10, 120, 8, 1)));
}

TEST(BandwidthAdvice, AnAverageThatIsNotTheRowsIsNamed) {
  BenchTable t = tableOf({{kMiB, 20}, {64 * kMiB, 40}});
  t.statedAverage = 30;
  EXPECT_TRUE(tableFindings(t, {}).empty());
  t.statedAverage = 60;
  EXPECT_NE(of(tableFindings(t, {}), "bandwidth-average"), nullptr);
}

}  // namespace
}  // namespace autoccl
