// Forked ranks over shared memory and over TCP. The same at length: tests/agree/agree_slow_test.cc.
#include <gtest/gtest.h>

#include "agree/test_job.h"

namespace autoccl {
namespace {

TEST(ForkedRanks, NeverDivergeUnderRandomDelaysAndLostLinks) {
  const JobTotals t = runNoisyJobs(20);
  t.print("noise");
  EXPECT_EQ(t.divergences, 0);
  EXPECT_EQ(t.unequalDigests, 0);
  EXPECT_EQ(t.badExits, 0);
  EXPECT_EQ(t.lateSurvivors, 0);
  EXPECT_GT(t.commits, t.runs) << "versions were committed while calls ran";
  EXPECT_GT(t.changedCalls, 0);
}

TEST(ForkedRanks, SurvivorsOfAKillGoOnOrFailWithinFiveSecondsAndNeverDiverge) {
  const JobTotals t = runKilledJobs(10);
  t.print("kill");
  EXPECT_EQ(t.divergences, 0);
  EXPECT_EQ(t.badExits, 0);
  EXPECT_EQ(t.lateSurvivors, 0);
}

}  // namespace
}  // namespace autoccl
