#include "tune/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "tune/journal.h"
#include "tune/testing/job.h"

namespace autoccl {
namespace {

TEST(Tuner, ConvergesToAConfirmedGainAndServesIt) {
  Job job(generous(), smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  job.run(1500);
  const TaskStatus s = job.status();
  EXPECT_EQ(s.state, TaskState::kConverged);
  EXPECT_GE(60.0 / smallUs(s.task, s.config), 0.9);
  EXPECT_GT(s.gainLow, 1.5);
  EXPECT_NEAR(s.gain, smallUs(s.task, s.defaultConfig) / smallUs(s.task, s.config), 0.1);
  EXPECT_EQ(job.configOf(0), s.config);
  EXPECT_GT(s.savedUs, s.lostUs);
  EXPECT_GT(s.breakEvenCall, 0u);
  EXPECT_GT(s.convergedAtCall, 0u);
  EXPECT_NE(s.decidedBy.find("fresh interleaved calls"), std::string::npos);
  EXPECT_TRUE(job.tuner.settled());
  EXPECT_GT(s.modelBetaGBps, 0);
}

TEST(Tuner, CarriesManyTrialsInOneAgreement) {
  Job job(generous(), smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  job.run(600);
  EXPECT_GE(job.mostEntries, 8u);
}

TEST(Tuner, ClaimsNoGainWhereThereIsNone) {
  int claimed = 0;
  constexpr int kRuns = 60;
  for (int i = 0; i < kRuns; ++i) {
    Noise::Options noise;
    noise.seed = uint64_t(i) + 1;
    noise.sd = 0.1;
    noise.swing = 0.1;
    noise.stragglers = 0.02;
    TunerOptions options = generous();
    options.search.seed = uint64_t(i);
    Job job(
        options, smallSpace(), [](const Task&, const Config&) { return 100.0; }, noise);
    job.begin(taskOf(1 << 20));
    job.run(900);
    claimed += job.status().config != job.status().defaultConfig;
  }
  EXPECT_LE(claimed, kRuns * 8 / 100);
}

TEST(Tuner, NeverLosesMoreThanItsBudget) {
  // Everything but the default is ten times as slow.
  TunerOptions options;
  Job job(options, smallSpace(),
          [](const Task&, const Config& c) { return c == smallSpace().fallback ? 100.0 : 1000.0; });
  job.begin(taskOf(1 << 20));
  job.run(20000);
  const TunerTotals sum = job.tuner.totals();
  // The opening credit, the flow, and the one plan that may overdraw it by what it did not foresee.
  EXPECT_LE(sum.lostUs, 60 * 110.0 + 0.02 * sum.communicationUs + 60 * 900.0);
  EXPECT_EQ(job.status().config, smallSpace().fallback);
}

TEST(Tuner, PausesWhenTheBudgetIsSpentAndGoesOnWhenItHasFilled) {
  TunerOptions options;
  options.openingCreditCalls = 3;
  Job job(options, smallSpace(), [](const Task& t, const Config& c) {
    return c == smallSpace().fallback ? 70.0 : 3 * smallUs(t, c);
  });
  job.begin(taskOf(1 << 20));
  bool paused = false;
  for (int i = 0; i < 400 && !paused; ++i) {
    job.run(5);
    paused = job.status().state == TaskState::kPaused;
  }
  EXPECT_TRUE(paused);
  EXPECT_TRUE(job.tuner.settled());
  const auto before = job.status().measuredCalls;
  job.run(20000);
  EXPECT_GT(job.status().measuredCalls, before);
}

TEST(Tuner, FenceTimeCountsAgainstTheBudget) {
  Job job(TunerOptions{}, smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  job.run(20);
  const double credit = job.tuner.totals().creditUs;
  job.tuner.fenceWaited(500);
  EXPECT_DOUBLE_EQ(job.tuner.totals().creditUs, credit - 500);
  EXPECT_DOUBLE_EQ(job.tuner.totals().fenceUs, 500);
}

TEST(Tuner, AnotherConfigInEffectThanAskedIsAFailedTrialAndNeverAMeasurement) {
  Job job(generous(), smallSpace(), smallUs);
  job.disturb = [](TimedCall& c) {
    if (c.inEffect.algorithm == Algorithm::kTwoShot) c.inEffect.channels = 77;
  };
  job.begin(taskOf(1 << 20));
  job.run(2500);
  EXPECT_EQ(job.status().config.algorithm, Algorithm::kRing);
  EXPECT_GT(job.status().discardedSamples, 0u);
  EXPECT_EQ(job.status().state, TaskState::kConverged);
}

TEST(Tuner, GoesOnWhenSamplesAreLost) {
  Job job(generous(), smallSpace(), smallUs);
  job.disturb = [](TimedCall& c) {
    if (c.callIndex % 3 == 1) c.taskKey = 0;
  };
  job.begin(taskOf(1 << 20));
  job.run(6000);
  EXPECT_EQ(job.status().state, TaskState::kConverged);
  EXPECT_GT(job.status().missingSamples, 0u);
  EXPECT_GE(60.0 / smallUs(job.status().task, job.status().config), 0.85);
}

TEST(Tuner, AnAbortedPlanIsProposedAgain) {
  Job job(generous(), smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  job.agrees = false;
  job.run(100);
  EXPECT_EQ(job.status().config, smallSpace().fallback);
  EXPECT_EQ(job.ran.size(), 1u);
  job.agrees = true;
  job.run(1500);
  EXPECT_EQ(job.status().state, TaskState::kConverged);
  EXPECT_NE(job.status().config, smallSpace().fallback);
}

TEST(Tuner, AProfilesChoiceIsConfirmedBeforeItServesAndSparesTheSearch) {
  const Config known = parseConfig("twoshot/simple/shm nc=4 nt=2 c=64K");
  Job job(generous(), smallSpace(), smallUs);
  job.begin(taskOf(1 << 20), &known);
  job.run(120);
  EXPECT_EQ(job.status().config, known);
  EXPECT_EQ(job.ran.size(), 2u);  // the default and the profile's choice
  EXPECT_NE(job.status().decidedBy.find("the profile's choice"), std::string::npos);
}

TEST(Tuner, AProfilesChoiceThatDoesNotHoldLeadsToASearch) {
  const Config known = parseConfig("ring/simple/shm nc=8 nt=4 c=4K");
  Job job(generous(), smallSpace(),
          [&](const Task& t, const Config& c) { return c == known ? 400 : smallUs(t, c); });
  job.begin(taskOf(1 << 20), &known);
  job.run(2000);
  EXPECT_EQ(job.status().state, TaskState::kConverged);
  EXPECT_GE(60.0 / smallUs(job.status().task, job.status().config), 0.9);
}

TEST(Tuner, QuarantineKeepsOutAConfigAndItsLargerNeighbours) {
  Job job(generous(), smallSpace(), smallUs);
  const Config bad = parseConfig("twoshot/simple/shm nc=2 nt=1 c=16K");
  job.tuner.quarantine(keyOf(taskOf(1 << 20)), bad);
  job.begin(taskOf(1 << 20));
  job.run(2000);
  for (const auto& [config, calls] : job.ran) EXPECT_FALSE(atLeast(config, bad)) << toText(config);
  EXPECT_EQ(job.status().quarantined, std::vector<Config>{bad});
}

TEST(Tuner, TheJournalNamesAnUntriedConfigBeforeItRuns) {
  TunerOptions options = generous();
  std::string journal;
  options.journal = [&](const std::string& text) { journal = text; };
  Job job(options, smallSpace(), smallUs);
  std::map<Config, bool> ranWell;
  job.disturb = [&](TimedCall& c) {
    const bool untried = c.inEffect != smallSpace().fallback && !ranWell[c.inEffect];
    EXPECT_TRUE(!untried || journal.find(toText(c.inEffect)) != std::string::npos)
        << toText(c.inEffect);
    ranWell[c.inEffect] = true;
  };
  job.begin(taskOf(1 << 20));
  job.run(1500);
  EXPECT_TRUE(parseJournal(journal, "j").inFlight.empty());
}

TEST(Tuner, ALastingChangeReopensThatTaskAlone) {
  double factor = 1;
  Job job(generous(), smallSpace(), [&](const Task& t, const Config& c) {
    return smallUs(t, c) * (t.bytes == 1 << 20 ? factor : 1);
  });
  job.begin(taskOf(1 << 20));
  job.begin(taskOf(64 << 20));
  job.run(2500);
  ASSERT_EQ(job.status(0).state, TaskState::kConverged);
  factor = 1.6;
  job.run(2500);
  EXPECT_GE(job.status(0).reopened, 1);
  EXPECT_EQ(job.status(1).reopened, 0);
}

TEST(Tuner, ALiveRegressionRollsBackToTheDefault) {
  bool spoilt = false;
  Job job(generous(), smallSpace(), [&](const Task& t, const Config& c) {
    return smallUs(t, c) * (spoilt && c != smallSpace().fallback ? 4 : 1);
  });
  job.begin(taskOf(1 << 20));
  job.run(1500);
  ASSERT_NE(job.status().config, smallSpace().fallback);
  spoilt = true;
  job.run(4000);
  EXPECT_EQ(job.status().config, smallSpace().fallback);
  EXPECT_EQ(job.configOf(0), smallSpace().fallback);
}

TEST(Tuner, APricePerWorkerPrefersFewerOfThem) {
  TunerOptions options = generous();
  options.objective = "sm";
  options.smPriceUs = 10;
  Job job(options, smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  job.run(2500);
  EXPECT_LE(job.status().config.channels * job.status().config.threads, 4);
}

TEST(Tuner, ASecondSizeStartsFromItsNeighboursWinner) {
  Job job(generous(), smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  job.run(1500);
  const Config winner = job.status(0).config;
  job.begin(taskOf(2 << 20));
  job.run(120);
  const auto history = job.status(1).history;
  ASSERT_FALSE(history.empty());
  EXPECT_TRUE(std::any_of(history.begin(),
                          history.begin() + std::min<std::ptrdiff_t>(4, std::ssize(history)),
                          [&](auto& r) { return r.config == winner; }));
}

TEST(Tuner, BeyondItsTableTasksRunTheDefault) {
  TunerOptions options = generous();
  options.maxTasks = 1;
  Job job(options, smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  job.begin(taskOf(2 << 20));
  job.run(50);
  EXPECT_EQ(job.tuner.status().size(), 1u);
  EXPECT_EQ(job.tuner.totals().tasksRefused, 1u);
}

TEST(Tuner, SaysHowManyCallsItsWarmUpTakes) {
  Job job(generous(), smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  const auto needed = static_cast<int>(job.status().warmupCalls);
  job.run(needed - 1);
  EXPECT_EQ(job.status().state, TaskState::kWarmUp);
  job.run(1);
  EXPECT_EQ(job.status().state, TaskState::kSearching);
}

TEST(Tuner, EveryBlockOfAFinishedSearchHasItsVerdictAndTheDefaultsHaveNone) {
  Job job(generous(), smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  while (job.status().state != TaskState::kConverged) job.run(1);
  std::map<std::string, std::map<std::string, int>> counts;  // verdicts by phase
  for (const TrialRecord& r : job.status().history) {
    const bool confirmed = r.phase == "confirm";
    ++counts[confirmed ? "confirm" : "search"][r.verdict];
    EXPECT_EQ(r.verdict.empty(), r.config == smallSpace().fallback) << toText(r.config);
    if (confirmed && !r.verdict.empty()) {
      EXPECT_EQ(r.verdict, r.config == job.status().config ? "accepted" : "rejected");
    }
  }
  EXPECT_GT(counts["search"]["win"], 0);
  EXPECT_GT(counts["search"]["lose"], counts["search"]["win"]) << "most trials are not the best";
  EXPECT_GT(counts["confirm"]["accepted"], 0);
}

TEST(Tuner, AFaultBelowTheChoiceRollsBackAndTheSearchGoesOn) {
  double factor = 1;
  Config faulty;
  Job job(generous(), smallSpace(),
          [&](const Task& t, const Config& c) { return smallUs(t, c) * factor; });
  job.begin(taskOf(1 << 20));
  job.run(2500);
  const Config choice = job.status().config;
  ASSERT_NE(choice, smallSpace().fallback);
  job.disturb = [&](TimedCall& c) {
    const bool smaller = c.inEffect != choice && atLeast(choice, c.inEffect);
    if (!smaller) return;
    c.failed = true;
    faulty = c.inEffect;
  };
  factor = 3;  // re-opens the search
  job.run(4000);
  const TaskStatus status = job.status();
  ASSERT_FALSE(status.failedHere.empty());
  EXPECT_TRUE(std::any_of(status.failedHere.begin(), status.failedHere.end(),
                          [&](const Config& c) { return atLeast(faulty, c); }));
  for (const Config& c : status.failedHere) EXPECT_FALSE(atLeast(status.config, c));
  EXPECT_EQ(status.state, TaskState::kConverged);
}

TEST(Tuner, HistoryIsBounded) {
  TunerOptions options = generous();
  options.maxHistory = 10;
  Job job(options, smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  job.run(1500);
  EXPECT_LE(job.status().history.size(), 10u);
}

TEST(Tuner, ATaskThatIsNoLongerCalledDoesNotHoldUpTheRest) {
  Job job(generous(), smallSpace(), smallUs);
  job.begin(taskOf(1 << 20));
  job.tuner.seen(taskOf(16), nullptr, job.nowNs);  // one barrier, say
  job.run(1500);
  EXPECT_FALSE(job.tuner.settled());
  (void)job.tuner.nextPlans(job.nowNs + 60'000'000'000);
  EXPECT_TRUE(job.tuner.settled());
}

TEST(Tuner, WrongOptionsAreNamed) {
  TunerOptions options;
  options.objective = "speed";
  EXPECT_THROW(Tuner(options, [](const Task&) { return Space{}; }), Error);
  options.objective = "time";
  options.policy = "magic";
  EXPECT_THROW(Tuner(options, [](const Task&) { return Space{}; }), Error);
}

TEST(Tuner, ARoundWhoseSamplesAreLostEndsWhenItsCallsAreLongOver) {
  TunerOptions options;
  Space space;
  space.fallback = Config{};
  space.fallback.channels = 1;
  Subspace s;
  s.channels = {1, 2, 4};
  s.threads = {1};
  s.chunks = {0};
  space.subspaces.push_back(s);
  Tuner tuner(options, [&](const Task&) { return space; });
  const Task task;
  const uint64_t key = keyOf(task);
  tuner.seen(task, nullptr, 0);
  uint64_t calls = 0;
  for (; calls < 20; ++calls) tuner.tell({{key, calls, space.fallback, 100, false, 1}});
  const auto plans = tuner.nextPlans(1000);
  ASSERT_EQ(plans.size(), 1u);
  tuner.committed(1, {calls});
  const uint64_t end = calls + plans[0].calls + 100;
  tuner.issued(key, end, 2'000'000'000);
  EXPECT_TRUE(tuner.nextPlans(2'000'000'001).empty()) << "its samples may still come";
  tuner.issued(key, end, 9'000'000'000);
  EXPECT_FALSE(tuner.nextPlans(9'000'000'001).empty());
  EXPECT_EQ(tuner.status()[0].calls, end);
  EXPECT_EQ(tuner.status()[0].missingSamples, plans[0].calls);
}

}  // namespace
}  // namespace autoccl
