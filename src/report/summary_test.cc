#include "report/summary.h"

#include <gtest/gtest.h>

#include "store/testing/sample_record.h"

namespace autoccl {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Summary, ShowsEveryTaskWithItsGainAndInterval) {
  const std::string text = summaryText(sampleRecord());
  EXPECT_TRUE(has(text, "allreduce 1M float32 sum x2")) << text;
  EXPECT_TRUE(has(text, "1.45x (1.41-1.49)")) << text;
  EXPECT_TRUE(has(text, "twoshot/zero/shm nc=2 nt=1 c=128K wait=spin")) << text;
}

TEST(Summary, WhereTheDefaultStaysTheGainHasNoInterval) {
  EXPECT_EQ(gainText(1, 1, 1, true), "1.00x");
  EXPECT_EQ(gainText(1.2, 1.1, 1.3, true), "1.20x (1.10-1.30)");
  EXPECT_EQ(gainText(1, 1, 1, false), "-");
}

TEST(Summary, SaysWhatTuningCostAndBrought) {
  const std::string text = summaryText(sampleRecord());
  EXPECT_TRUE(has(text, "21.0 ms, 0.88 % of 2400 ms of communication (budget 2 %)")) << text;
  EXPECT_TRUE(has(text, "310 ms, the cost of tuning taken off; break-even at step 118")) << text;
  EXPECT_TRUE(has(text, "41.0 ms before, 37.5 ms after (-8.5 %)")) << text;
  EXPECT_TRUE(has(text, "3 of 3 tasks; all at call 420, step 105, 3.2 s")) << text;
}

TEST(Summary, AShortRunSaysThatTuningHadNotFinished) {
  RunRecord record = sampleRecord();
  record.tasks[0].state = "searching";
  record.tasks[0].confirmSamples = 0;
  record.convergedAtCall = 0;
  EXPECT_TRUE(has(summaryText(record), "2 of 3 tasks; tuning had not finished"));
}

TEST(Summary, ATaskWithTooFewCallsSaysHowManyItNeeds) {
  RunRecord record = sampleRecord();
  record.tasks[0].state = "warm-up";
  record.tasks[0].calls = 2;
  record.tasks[0].warmupCalls = 17;
  EXPECT_TRUE(has(summaryText(record), "warm-up, 2 of 17 calls seen")) << summaryText(record);
}

TEST(Summary, AJobWithoutCallsGetsNoEmptyTable) {
  RunRecord record = sampleRecord();
  record.tasks.clear();
  EXPECT_EQ(summaryText(record).rfind("no collective calls were seen\n", 0), 0u);
}

TEST(Summary, ManyTasksAreCutToThoseWithTheMostTime) {
  RunRecord record = sampleRecord();
  for (uint64_t i = 0; i < 40; ++i) record.tasks.push_back(sampleTaskRecord(16 * (i + 1), 1, 1));
  const std::string text = summaryText(record);
  EXPECT_TRUE(has(text, "and 19 tasks with less time"));
  EXPECT_LT(text.find("allreduce 8M"), text.find("allreduce 64K"));
}

TEST(Progress, RatesCallsBetweenTwoRecords) {
  RunRecord before = sampleRecord(), now = sampleRecord();
  before.wallSeconds = 10.5;
  for (TaskRecord& t : before.tasks) t.calls = 1000;
  EXPECT_EQ(
      progressText(before, now),
      "12 s | 3600 calls, 300/s | 3 of 3 tasks converged | best 1.45x allreduce 1M float32 sum x2");
}

}  // namespace
}  // namespace autoccl
