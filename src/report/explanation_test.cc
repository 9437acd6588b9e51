#include "report/explanation.h"

#include <gtest/gtest.h>

#include "store/testing/sample_record.h"

namespace autoccl {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(Explanation, TellsDefaultWinnerIntervalAndRunnersUp) {
  const std::string text = explain(sampleTaskRecord(1 << 20, 300, 1.45));
  for (const char* part :
       {"in use       twoshot/zero/shm nc=2 nt=1 c=128K wait=spin, 207 us +- 4.06",
        "default      ring/simple/shm nc=1 nt=1 c=64K wait=futex, 300 us",
        "1.45x (1.41-1.49) from 24 fresh samples", "12 interleaved pairs", "of 5 configs tried",
        "twoshot/zero/shm nc=2 nt=1 c=64K wait=spin",
        "phases       breadth 4 calls in 1 block, depth 16 calls in 4 blocks",
        "alpha 4.50 us, 6.25 GB/s"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

TEST(Explanation, ATaskWithTooFewCallsSaysSoAndShowsNoFigure) {
  TaskRecord t = sampleTaskRecord(1 << 20, 0, 1);
  t.state = "warm-up";
  t.calls = 1;
  t.warmupCalls = 17;
  t.convergedAtCall = 0;
  t.config = t.defaultConfig;
  t.tunedUs = 0;
  const std::string text = explain(t);
  EXPECT_TRUE(has(text, "state        warm-up, 1 of 17 calls seen")) << text;
  EXPECT_TRUE(has(text, "wait=futex, not measured")) << text;
}

TEST(Explanation, CandidatesAreRankedByTheirBestMedianAndFailedOnesComeLast) {
  TaskRecord t = sampleTaskRecord(1 << 20, 300, 1.45);
  t.history.push_back(t.history[2]);
  t.history.back().medianUs = 1;
  t.history[1].medianUs = 0;
  const auto all = candidates(t);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].config, t.history[2].config);
  EXPECT_EQ(all[0].medianUs, 1);
  EXPECT_EQ(all[0].samples, 8);
  EXPECT_EQ(all[4].config, t.history[1].config);
}

TEST(Explanation, ATaskIsFoundByAnyOfItsWords) {
  const Task task = sampleTask(1 << 20);
  for (const char* query : {"", "allreduce", "1m AllReduce", "allreduce 1M float32 sum x2"})
    EXPECT_TRUE(fits(task, query)) << query;
  for (const char* query : {"allgather", "allreduce 2M", "all"})
    EXPECT_FALSE(fits(task, query)) << query;
}

TEST(Explanation, AProfileEntryIsToldWithoutAHistory) {
  Profile profile{sampleRecord().machine, "", {}};
  (void)learn(profile, sampleRecord());
  const std::string text = explain(profile.entries[0]);
  EXPECT_TRUE(has(text, "allreduce 64K float32 sum x2\n"));
  EXPECT_TRUE(has(text, "learned      2026-11-30T18:00:00Z with autoccl 0.1.0"));
}

TEST(Explanation, SaysByWhichClockAndWhatTheOtherOneShowed) {
  TaskRecord t = sampleTaskRecord(1 << 20, 300, 1.45);
  EXPECT_NE(explain(t).find("clock        the host's"), std::string::npos);
  t.clock = "stream";
  t.kernelDefaultUs = 4.5;
  t.kernelTunedUs = 4.25;
  EXPECT_NE(
      explain(t).find("stream time, from ready to done; kernel time beside it: 4.50 us for the "
                      "default, 4.25 us in use"),
      std::string::npos)
      << explain(t);
}

}  // namespace
}  // namespace autoccl
