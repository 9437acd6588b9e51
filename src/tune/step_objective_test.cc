// Objective `step`: what is searched for, confirmed and watched is the length of a training step.
#include <gtest/gtest.h>

#include "tune/step_check.h"
#include "tune/testing/job.h"

namespace autoccl {
namespace {

TunerOptions bySteps() {
  TunerOptions options = generous();
  options.objective = "step";
  return options;
}

/// The default takes 32 workers.
Space crowded() {
  Space space = smallSpace();
  space.fallback.channels = 8;
  space.fallback.threads = 4;
  return space;
}

int workers(const Config& c) {
  return c.channels * c.threads;
}

/// A little faster with more workers, which the computation lacks meanwhile.
double evenUs(const Task&, const Config& c) {
  return 100 - 2 * std::log2(workers(c));
}
double slowedUs(const Config& c) {
  return 300 * (1 + 0.01 * workers(c));
}

TEST(StepObjective, FindsAConfigThatOnlyShortensTheStep) {
  for (const bool steps : {true, false}) {
    Job job(steps ? bySteps() : generous(), crowded(), evenUs);
    job.computeUs = slowedUs;
    job.begin(taskOf(1 << 20));
    job.run(3000);
    const TaskStatus s = job.status();
    EXPECT_EQ(s.state, TaskState::kConverged);
    if (!steps) {
      EXPECT_EQ(s.config, s.defaultConfig) << "its calls are the fastest";
      continue;
    }
    EXPECT_LE(workers(s.config), 2);
    EXPECT_NEAR(s.gain, (90 + 300 * 1.32) / (100 + 300 * 1.01), 0.03) << "of the step";
    EXPECT_GT(s.tunedUs, s.defaultUs) << "of its calls";
    EXPECT_NE(s.decidedBy.find("fresh interleaved steps"), std::string::npos) << s.decidedBy;
  }
}

TEST(StepObjective, AConfigThatWinsItsOwnCollectiveAndLengthensTheStepIsNotTaken) {
  Job job(bySteps(), smallSpace(), smallUs);
  job.computeUs = [](const Config& c) { return 1000 * (1 + 0.1 * (workers(c) - 1)); };
  job.begin(taskOf(1 << 20));
  job.run(3000);
  EXPECT_EQ(job.status().state, TaskState::kConverged);
  EXPECT_EQ(workers(job.status().config), 1) << job.status().decidedBy;
}

TEST(StepObjective, WhereNoStepsAreKnownAWinnerMustNotLengthenThoseThatTurnUp) {
  for (const bool harmful : {true, false}) {
    Job job(bySteps(), smallSpace(), smallUs);
    job.begin(taskOf(1 << 20));
    job.run(600);  // the search has begun, by calls
    job.computeUs = [&](const Config& c) {
      return harmful && c != smallSpace().fallback ? 2000 : 1000;
    };
    job.run(2500);
    EXPECT_EQ(job.status().config == smallSpace().fallback, harmful) << job.status().decidedBy;
    EXPECT_NE(job.status().decidedBy.find("step default/candidate"), std::string::npos);
  }
}

TEST(StepObjective, TasksWithManyCallsAStepAreSearchedOneAtATime) {
  Job job(bySteps(), crowded(), evenUs);
  job.computeUs = slowedUs;
  job.callsPerStep = 3;
  job.begin(taskOf(1 << 20));
  job.begin(taskOf(1 << 16));
  job.run(8000);
  EXPECT_EQ(job.mostPlans, 1u);
  for (const size_t t : {0, 1}) {
    EXPECT_EQ(job.status(t).state, TaskState::kConverged);
    EXPECT_LE(workers(job.status(t).config), 4) << job.status(t).decidedBy;
  }
}

TEST(StepObjective, ATaskThatIsNoLongerCalledDoesNotHoldUpTheRest) {
  Job job(bySteps(), crowded(), evenUs);
  job.computeUs = [](const Config& c) { return 30 * slowedUs(c); };
  job.begin(taskOf(1 << 20));
  job.begin(taskOf(1 << 16));
  job.run(100);
  ASSERT_FALSE(job.status(0).history.empty()) << "the first task is being searched";
  job.end(0);
  job.run(4000);
  EXPECT_EQ(job.status(1).state, TaskState::kConverged);
}

TEST(StepObjective, WhenTheStepsEndTheSearchGoesOnByCalls) {
  Job job(bySteps(), smallSpace(), smallUs);
  job.computeUs = [](const Config&) { return 500; };
  job.begin(taskOf(1 << 20));
  job.run(60);
  job.computeUs = nullptr;
  job.run(3000);
  EXPECT_EQ(job.status().state, TaskState::kConverged);
  EXPECT_GT(job.status().gainLow, 1.5) << job.status().decidedBy;
}

TEST(StepObjective, TheProfilesChoiceIsConfirmedByStepsToo) {
  Config known = crowded().fallback;
  known.channels = known.threads = 1;
  Job job(bySteps(), crowded(), evenUs);
  job.computeUs = slowedUs;
  job.begin(taskOf(1 << 20), &known);
  job.run(200);
  EXPECT_EQ(job.status().config, known) << job.status().decidedBy;
  EXPECT_NE(job.status().decidedBy.find("the profile's choice"), std::string::npos);
}

TEST(StepObjective, AChoiceWhoseStepsBecomeLongerIsRolledBack) {
  Job job(bySteps(), crowded(), evenUs);
  bool spoilt = false;
  job.computeUs = [&](const Config& c) {
    return slowedUs(c) * (spoilt && c != crowded().fallback ? 1.5 : 1);
  };
  job.begin(taskOf(1 << 20));
  job.run(3000);
  ASSERT_NE(job.status().config, crowded().fallback);
  spoilt = true;
  job.run(20000);
  EXPECT_EQ(job.status().config, crowded().fallback) << job.status().decidedBy;
}

TEST(StepObjective, NoiseAloneIsNoGain) {
  int claimed = 0;
  constexpr int kJobs = 40;
  for (uint64_t seed = 1; seed <= kJobs; ++seed) {
    Noise::Options noise = Job::quiet();
    noise.seed = seed;
    noise.sd = 0.05;
    TunerOptions options = bySteps();
    options.search.seed = seed;
    Job job(
        options, crowded(), [](const Task&, const Config&) { return 100; }, noise);
    job.computeUs = [](const Config&) { return 300; };
    job.begin(taskOf(1 << 20));
    for (int i = 0; i < 20 && job.status().state != TaskState::kConverged; ++i) job.run(500);
    EXPECT_EQ(job.status().state, TaskState::kConverged);
    claimed += job.status().config != crowded().fallback;
  }
  EXPECT_LE(claimed, kJobs / 20);
}

TEST(StepCalls, AStepCountsForAConfigThatAllOfItsCallsRanWith) {
  const Config a = smallSpace().subspaces[0].at(0, 0, 0), b = smallSpace().subspaces[0].at(1, 0, 0);
  StepTable steps;
  StepCalls calls;
  calls.call({4, 1'500'000, a});
  calls.call({5, 2'000'000, a});  // at the end of the first step
  calls.call({6, 2'500'000, a});
  calls.call({7, 3'500'000, b});
  EXPECT_FALSE(calls.ready(steps));
  for (const int64_t end : {2, 3, 4, 5}) steps.ended(1, end * 1'000'000);
  EXPECT_TRUE(calls.ready(steps));
  auto pure = calls.pure(steps);
  ASSERT_EQ(pure.size(), 3u) << "the last has no call";
  EXPECT_EQ(pure[0].firstCall, 4u);
  EXPECT_EQ(pure[2].config, b);
  calls.call({8, 3'700'000, a});
  EXPECT_EQ(calls.pure(steps).size(), 2u);
}

TEST(StepCheck, ALinearDriftCancelsInTheTurnedPairs) {
  const StepCheck check(smallSpace().fallback, smallSpace().subspaces[0].at(1, 0, 0), 2);
  double ms = 100;
  std::vector<std::vector<double>> byTrial;
  for (size_t t = 0; t < check.ask().size(); ++t) {
    byTrial.push_back({ms, ms + 0.2});
    ms += 0.4;
  }
  EXPECT_NEAR(StepCheck::judge(byTrial).gain.mean, 0, 0.002);
  EXPECT_TRUE(StepCheck::judge(byTrial).passed);
}

}  // namespace
}  // namespace autoccl
