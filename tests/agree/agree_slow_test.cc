// The agreement at length (label slow): what job_test.cc does, many more times.
#include <gtest/gtest.h>

#include "agree/test_job.h"

namespace autoccl {
namespace {

TEST(ForkedRanksAtLength, AThousandNoisyRunsNeverDiverge) {
  const JobTotals t = runNoisyJobs(1000);
  t.print("noise");
  expectAgreedToTheEnd(t);
}

TEST(ForkedRanksAtLength, TwoHundredKillsNeverDivergeNorHang) {
  const JobTotals t = runKilledJobs(200);
  t.print("kill");
  expectAgreed(t);
}

}  // namespace
}  // namespace autoccl
