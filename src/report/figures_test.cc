#include "report/figures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "store/testing/sample_record.h"

namespace autoccl {
namespace {

/// A record whose figures agree with each other.
RunRecord soundRecord() {
  RunRecord r = sampleRecord();
  r.ranks = {{0, 0.8, 2500, 0, 0}, {1, 0.8, 2500, 0, 0}};
  return r;
}

bool names(const std::vector<std::string>& findings, const std::string& part) {
  for (const std::string& f : findings)
    if (f.find(part) != f.npos) return true;
  return false;
}

TEST(Rates, AreThoseOfNcclTests) {
  Task task = sampleTask(1'000'000);
  task.nRanks = 4;
  EXPECT_DOUBLE_EQ(ratesOf(task, 100).algbw, 10);
  EXPECT_DOUBLE_EQ(ratesOf(task, 100).busbw, 15);
  EXPECT_EQ(ratesOf(task, 0).algbw, 0);
}

TEST(LatencyFit, FindsTheLineThatMadeTheTimes) {
  RunRecord r;
  for (const uint64_t bytes : {1u << 12, 1u << 16, 1u << 20, 1u << 24}) {
    TaskRecord t;
    t.task = sampleTask(bytes);
    t.defaultUs = t.tunedUs = 5 + static_cast<double>(bytes) / 8e3;  // 8 GB/s
    r.tasks.push_back(t);
  }
  const auto fits = latencyFits(r);
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_NEAR(fits[0].alphaUs, 5, 1e-6);
  EXPECT_NEAR(fits[0].bandwidthGBps, 8, 1e-6);
  EXPECT_NEAR(fits[0].halfBytes, 40000, 1e-3);
  EXPECT_NEAR(fits[0].residual, 0, 1e-9);
  EXPECT_EQ(fits[0].sizes, 4);
}

TEST(LatencyFit, NeverGivesANegativeOrInfiniteFigure) {
  RunRecord r;
  for (const auto& [bytes, us] :
       std::vector<std::pair<uint64_t, double>>{{1000, 1}, {2000, 4}, {4000, 20}, {8000, 3}}) {
    TaskRecord t;
    t.task = sampleTask(bytes);
    t.defaultUs = t.tunedUs = us;
    r.tasks.push_back(t);
    for (const LatencyFit& f : latencyFits(r)) {
      EXPECT_GE(f.alphaUs, 0);
      EXPECT_GE(f.bandwidthGBps, 0);
      EXPECT_TRUE(std::isfinite(f.halfBytes) && std::isfinite(f.residual));
    }
  }
}

TEST(Contradictions, ASoundRecordHasNone) {
  const auto found = contradictions(soundRecord());
  EXPECT_TRUE(found.empty()) << found[0];
}

TEST(Contradictions, AGainOfStepsNeedNotBeTheCollectives) {
  RunRecord record = soundRecord();
  record.tasks[1].tunedUs = 290;
  EXPECT_TRUE(names(contradictions(record), "default/tuned"));
  record.objective = "step";
  EXPECT_FALSE(names(contradictions(record), "default/tuned"));
}

TEST(Contradictions, EachIsFoundAndNamesItsPlace) {
  for (const auto& [spoil, part] : std::vector<std::pair<void (*)(RunRecord&), const char*>>{
           {[](RunRecord& r) { r.tasks[1].gain = 3; },
            "allreduce 1M float32 sum x2: the gain 3.00x lies outside"},
           {[](RunRecord& r) { r.tasks[1].tunedUs = 290; },
            "allreduce 1M float32 sum x2: default/tuned"},
           {[](RunRecord& r) { r.tasks[0].gainLow = 0.8; }, "may be below 1"},
           {[](RunRecord& r) { r.tasks[0].config = r.tasks[0].defaultConfig; },
            "a gain of 1.20x is claimed"},
           {[](RunRecord& r) { r.tasks[0].convergedAtCall = 9999; },
            "converged at call 9999 of 1200"},
           {[](RunRecord& r) { r.tasks[0].modelResidual = 0.7; }, "off by 70.0 %"},
           {[](RunRecord& r) { r.tasks[0].tunedUs = r.tasks[0].defaultUs = 400; },
            "less than the smaller"},
           {[](RunRecord& r) { r.tasks[1].tunedUs = 2300; }, "busbw dips"},
           {[](RunRecord& r) { r.tunedStepMs = 50; }, "a step got longer"},
           {[](RunRecord& r) { r.steps[3].computeMs = 1; }, "in 1 of 300 steps"},
           {[](RunRecord& r) { r.tuningCostMs = 400; },
            "more than the budget of 2.0 % and the opening credit of 176 ms"},
           {[](RunRecord& r) { r.fenceMs = 60; }, "time at fences"},
           {[](RunRecord& r) { r.ranks[1].exposedMs = 20000; }, "rank 1 waited"},
           {[](RunRecord& r) { r.ranks[1].computeShare = 0.2; }, "rank 1: compute"},
           {[](RunRecord& r) { r.ranks[0].droppedSamples = 3; }, "rank 0 dropped 3"}}) {
    RunRecord record = soundRecord();
    spoil(record);
    EXPECT_TRUE(names(contradictions(record), part)) << part;
  }
}

}  // namespace
}  // namespace autoccl
