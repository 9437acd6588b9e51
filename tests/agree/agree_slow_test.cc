// The agreement at length (label slow): what job_test.cc does, many more times.
#include <gtest/gtest.h>

#include "agree/test_job.h"

namespace autoccl {
namespace {

TEST(ForkedRanksAtLength, AThousandNoisyRunsNeverDiverge) {
  const JobTotals t = runNoisyJobs(1000);
  t.print("noise");
  EXPECT_EQ(t.divergences, 0);
  EXPECT_EQ(t.unequalDigests, 0);
  EXPECT_EQ(t.badExits, 0);
  EXPECT_EQ(t.lateSurvivors, 0);
  EXPECT_GT(t.commits, t.runs);
}

TEST(ForkedRanksAtLength, TwoHundredKillsNeverDivergeNorHang) {
  const JobTotals t = runKilledJobs(200);
  t.print("kill");
  EXPECT_EQ(t.divergences, 0);
  EXPECT_EQ(t.badExits, 0);
  EXPECT_EQ(t.lateSurvivors, 0);
}

}  // namespace
}  // namespace autoccl
