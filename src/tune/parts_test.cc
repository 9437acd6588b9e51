// The smaller parts of the tuner: grid, ledger, fit, budget, change point, journal, round, drift.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/surface.h"
#include "tune/budget.h"
#include "tune/change_point.h"
#include "tune/cost_fit.h"
#include "tune/drift_watch.h"
#include "tune/grid.h"
#include "tune/journal.h"
#include "tune/ledger.h"
#include "tune/round.h"

namespace autoccl {
namespace {

Space ringSpace() {
  Space space;
  space.fallback = {Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, 2, 128, 16384};
  space.subspaces.push_back({Algorithm::kRing,
                             Protocol::kSimple,
                             Transport::kShm,
                             0,
                             {1, 2, 4, 8},
                             {96, 128, 256},
                             {4096, 8192, 16384, 32768},
                             0});
  return space;
}

TEST(Grid, TheChunkKeepsItsIndexWhenChannelsChange) {
  const Grid grid(ringSpace(), false);
  const auto moved = grid.moved({0, {1, 1, 2}}, {1, 0, 0});
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->at[2], 2);
}

TEST(Grid, MovesAreClippedAndNeverEndOnAnInvalidPoint) {
  Space space = ringSpace();
  space.valid = [](const Config& c) { return c.channels <= 4; };
  const Grid grid(space, false);
  EXPECT_FALSE(grid.moved({0, {2, 0, 0}}, {1, 0, 0}));
  EXPECT_FALSE(grid.moved({0, {0, 0, 0}}, {-3, 0, 0}));
  ASSERT_TRUE(grid.moved({0, {1, 0, 0}}, {0, 9, 0}));
  EXPECT_EQ(grid.moved({0, {1, 0, 0}}, {0, 9, 0})->at[1], 2);
}

TEST(Grid, TheNearestPointOfAConfigIsByRatio) {
  const Grid grid(ringSpace(), false);
  const auto p =
      grid.nearest({Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, 5, 110, 12000});
  ASSERT_TRUE(p);
  EXPECT_EQ(grid.config(*p).channels, 4);
  EXPECT_EQ(grid.config(*p).chunk, 16384u);
  EXPECT_FALSE(grid.nearest({Algorithm::kTree, Protocol::kSimple, Transport::kShm}));
}

TEST(Ledger, TakesDriftOutOfConfigsMeasuredAtDifferentTimes) {
  // b is measured after everything has become 30 % slower; a recurs in every epoch.
  const Config a = ringSpace().subspaces[0].at(0, 0, 0), b = ringSpace().subspaces[0].at(1, 0, 0);
  Noise::Options options;
  options.sd = 0.02;
  Noise noise(options);
  Ledger ledger;
  for (size_t epoch = 0; epoch < 30; ++epoch) {
    const double drift = 1 + 0.01 * double(epoch);
    for (int i = 0; i < 2; ++i) ledger.add(epoch, a, noise.measure(100 * drift));
    if (epoch >= 25)
      for (int i = 0; i < 2; ++i) ledger.add(epoch, b, noise.measure(90 * drift));
  }
  ledger.settle();
  EXPECT_NEAR(ledger.of(a).logUs - ledger.of(b).logUs, std::log(100.0 / 90), 0.03);
}

TEST(Ledger, DriftMayBeLargeOverAPause) {
  const Config a = ringSpace().subspaces[0].at(0, 0, 0), b = ringSpace().subspaces[0].at(1, 0, 0);
  Noise::Options options;
  options.sd = 0.05;
  Noise noise(options);
  Ledger ledger;
  for (int i = 0; i < 6; ++i) ledger.add(0, a, noise.measure(100));
  for (int i = 0; i < 6; ++i) ledger.add(100, b, noise.measure(90 * 1.3));
  for (int i = 0; i < 6; ++i) ledger.add(101, a, noise.measure(100 * 1.3));
  ledger.settle();
  EXPECT_NEAR(ledger.of(a).logUs - ledger.of(b).logUs, std::log(100.0 / 90), 0.05);
}

TEST(Ledger, AStragglerMovesAnEstimateLittle) {
  const Config a = ringSpace().fallback;
  Noise::Options options;
  options.sd = 0.02;
  Noise noise(options);
  Ledger ledger;
  for (int i = 0; i < 20; ++i) ledger.add(0, a, i == 7 ? 2000 : noise.measure(100));
  ledger.settle();
  EXPECT_NEAR(ledger.of(a).logUs, std::log(100), 0.03);
  EXPECT_NEAR(ledger.noise(), 0.02, 0.015);
}

TEST(CostFit, FindsTheModelBehindNoisyPoints) {
  CostParameters truth;
  truth.startUs0 = 20;
  truth.peak0 = 12e3;
  truth.startUs1 = 0.15;
  truth.peak1 = 15e3;
  truth.perByte = 2e-7;
  truth.perWorker = 1e-4;
  const uint64_t bytes = 32 << 20;
  Noise::Options options;
  options.sd = 0.03;
  Noise noise(options);
  std::vector<CostPoint> points;
  for (const uint16_t nc : {1, 4, 16, 64})
    for (const uint16_t nt : {96, 256, 640})
      for (const uint32_t c : {8192u, 65536u, 524288u}) {
        const Config at{Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, nc, nt, c};
        points.push_back({at, noise.measure(costUs(truth, bytes, at)), 1});
      }
  const auto forms = fitCostForms(bytes, points);
  ASSERT_FALSE(forms.empty());
  const auto fit = std::min_element(forms.begin(), forms.end(),
                                    [](auto& a, auto& b) { return a.residual < b.residual; });
  EXPECT_LT(fit->residual, 0.15);
  const Config fresh{Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, 8, 384, 131072};
  EXPECT_NEAR(fit->us(fresh) / costUs(truth, bytes, fresh), 1, 0.15);
}

TEST(CostFit, NeedsThreePoints) {
  const CostPoint p{ringSpace().fallback, 10, 1};
  EXPECT_TRUE(fitCostForms(1024, std::vector<CostPoint>{p, p}).empty());
  EXPECT_TRUE(fitCostForms(0, std::vector<CostPoint>{p, p, p}).empty());
}

TEST(Budget, FillsByItsShareUpToTheHorizonAndMayBeOverdrawn) {
  Budget budget(0.02, 1);  // at most 20 ms
  budget.communicated(1e5);
  EXPECT_DOUBLE_EQ(budget.creditUs(), 2000);
  budget.communicated(1e8);
  EXPECT_DOUBLE_EQ(budget.creditUs(), 20000);
  budget.spend(25000);
  EXPECT_LT(budget.creditUs(), 0);
  budget.communicated(3e5);
  EXPECT_GE(budget.creditUs(), 0);
  budget.grant(50000);
  budget.communicated(1e5);
  EXPECT_DOUBLE_EQ(budget.creditUs(), 51000);  // an opening credit is not cut by the cap
}

TEST(ChangePoint, SeesALastingShiftAndNoWeather) {
  int falseAlarms = 0, seen = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Noise::Options options;
    options.seed = seed;
    options.sd = 0.05;
    options.swing = 0.04;
    options.stragglers = 0.03;
    Noise noise(options);
    ChangePoint change;
    for (int i = 0; i < 3000; ++i) falseAlarms += change.put(noise.measure(100));
    for (int i = 0; i < 200 && seen < int(seed); ++i) seen += change.put(noise.measure(130));
  }
  EXPECT_LE(falseAlarms, 1);
  EXPECT_EQ(seen, 50);
}

TEST(Journal, IsReadBackAsItWasWritten) {
  Journal journal;
  journal.inFlight.push_back({0xff, parseConfig("ring/simple/shm nc=4 nt=2 c=64K")});
  journal.quarantined.push_back({~uint64_t{0}, parseConfig("tree/ll/shm nc=1 nt=1 c=4K")});
  EXPECT_EQ(parseJournal(formatJournal(journal), "j"), journal);
  EXPECT_EQ(parseJournal("", "j"), Journal{});
}

TEST(Journal, CutShortByACrashItStillGivesItsWholeLines) {
  Journal journal;
  journal.inFlight.push_back({1, parseConfig("ring/simple/shm nc=4 nt=2 c=64K")});
  journal.inFlight.push_back({2, parseConfig("ring/simple/shm nc=8 nt=2 c=64K")});
  const std::string text = formatJournal(journal);
  for (size_t n = 0; n < text.size(); ++n)
    EXPECT_LE(parseJournal(text.substr(0, n), "j").inFlight.size(), 2u);
  EXPECT_EQ(parseJournal(text.substr(0, text.size() - 5), "j").inFlight.size(), 1u);
}

TEST(Journal, AWrongLineIsNamedByFileAndNumber) {
  for (const char* bad :
       {"hello\n", "autoccl-journal 1\nwhat\n", "autoccl-journal 1\ntrying 12 ring\n",
        "autoccl-journal 1\ntrying 00000000000000zz ring/simple/shm\n",
        "autoccl-journal 1\ntrying 00000000000000ff rung/simple/shm\n"}) {
    try {
      (void)parseJournal(bad, "job.journal");
      FAIL() << bad;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("job.journal:"), std::string::npos);
    }
  }
}

TEST(Round, MatchesSamplesByCallIndexInAnyOrder) {
  const Config a = ringSpace().subspaces[0].at(0, 0, 0), b = ringSpace().subspaces[0].at(1, 0, 0);
  Round round({{a, 2}, {b, 1}});
  EXPECT_FALSE(round.holds(0));
  round.begin(10, 7);
  EXPECT_EQ(round.asked(11), a);
  EXPECT_EQ(round.asked(12), b);
  EXPECT_FALSE(round.holds(13));
  for (const uint64_t call : {12, 10, 11, 11}) round.put({round.asked(call), double(call), call});
  EXPECT_TRUE(round.over());
  EXPECT_EQ(round.times(0), (std::vector<double>{10, 11}));
  EXPECT_EQ(round.times(1), (std::vector<double>{12}));
}

TEST(Round, GivesLostSamplesUpOnceCallsFarBeyondItHaveCome) {
  Round round({{ringSpace().fallback, 2}});
  round.begin(0, 1);
  round.put({ringSpace().fallback, 5, 0});
  round.passed(20);
  EXPECT_FALSE(round.over());
  round.passed(100);
  EXPECT_TRUE(round.over());
  EXPECT_EQ(round.missing(), 1u);
}

TEST(DriftWatch, BurstsAreRareEnoughForTheBudgetAndRarerWhileQuiet) {
  DriftWatch watch(16, 0.02);
  watch.begin(0, 1.5);  // each default call costs half a call-time
  uint64_t call = 0;
  while (!watch.due(call)) ++call;
  EXPECT_GE(double(call), 8 * 0.5 / (0.02 / 4));
  std::vector<std::vector<double>> times;
  for (const Trial& t :
       watch.ask(ringSpace().fallback, {Algorithm::kTree, Protocol::kLL, Transport::kShm}))
    times.push_back(
        std::vector<double>(size_t(t.calls), t.config == ringSpace().fallback ? 150 : 100));
  EXPECT_EQ(watch.tell(times, call), DriftWatch::Finding::kQuiet);
  EXPECT_FALSE(watch.due(2 * call));
}

TEST(DriftWatch, AChoiceThatBecameSlowerIsFound) {
  DriftWatch watch(16, 0.02);
  watch.begin(0, 1.5);
  const Config choice{Algorithm::kTree, Protocol::kLL, Transport::kShm};
  std::vector<std::vector<double>> times;
  double jitter = 0;
  for (const Trial& t : watch.ask(ringSpace().fallback, choice)) {
    jitter += 0.1;
    times.push_back(
        std::vector<double>(size_t(t.calls), (t.config == choice ? 120 : 100) + jitter));
  }
  EXPECT_EQ(watch.tell(times, 1000), DriftWatch::Finding::kSlower);
}

}  // namespace
}  // namespace autoccl
