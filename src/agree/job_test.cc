// Forked ranks over shared memory and over TCP. The same at length: tests/agree/agree_slow_test.cc.
#include <gtest/gtest.h>

#include "agree/test_job.h"

namespace autoccl {
namespace {

TEST(ForkedRanks, NeverDivergeUnderRandomDelaysAndLostLinks) {
  const JobTotals t = runNoisyJobs(20);
  t.print("noise");
  expectAgreedToTheEnd(t);
}

TEST(ForkedRanks, SurvivorsOfAKillGoOnOrFailWithinFiveSecondsAndNeverDiverge) {
  const JobTotals t = runKilledJobs(10);
  t.print("kill");
  expectAgreed(t);
}

}  // namespace
}  // namespace autoccl
