#include "tune/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "model/surface.h"

namespace autoccl {
namespace {

struct Outcome {
  Config best;
  int calls = 0;
  bool finished = false;
  std::vector<Config> tried;
};

Noise::Options weather(uint64_t seed, double sd) {
  Noise::Options o;
  o.seed = seed * 7 + 1;
  o.sd = sd;
  o.swing = 0.1;
  o.walk = 0.001;
  o.stragglers = 0.02;
  return o;
}

template <class Us>
Outcome drive(Policy& policy, Us us, int most = 100000) {
  Outcome run;
  uint64_t index = 0;
  while (!policy.done() && run.calls < most) {
    std::vector<Sample> samples;
    for (const Trial& t : policy.ask())
      for (int i = 0; i < t.calls; ++i) {
        const double time = us(t.config);
        samples.push_back({t.config, std::max(0.0, time), index++, time <= 0});
        run.tried.push_back(t.config);
        ++run.calls;
      }
    policy.tell(samples);
  }
  run.finished = policy.done();
  run.best = policy.best();
  return run;
}

Outcome search(std::string_view name, const Surface& surface, const PolicyOptions& options,
               double sd) {
  Noise noise(weather(options.seed, sd));
  auto policy = makePolicy(name, surface.space(), options);
  return drive(*policy, [&](const Config& c) { return noise.measure(surface.trueUs(c)); });
}

double ofOracle(const Surface& s, const Config& c) {
  return s.oracleUs() / s.trueUs(c);
}

Surface surfaceOf(uint64_t seed) {
  Surface::Options o;
  o.seed = seed;
  return Surface(o);
}

/// One small subspace with a bowl: least at (8, 256, 64K).
Space bowl() {
  Space space;
  space.task.bytes = 1 << 24;
  space.fallback = {Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, 1, 96, 4096};
  space.subspaces.push_back({Algorithm::kRing,
                             Protocol::kSimple,
                             Transport::kShm,
                             0,
                             {1, 2, 4, 8, 16},
                             {96, 128, 256, 512},
                             {4096, 16384, 65536, 262144},
                             0});
  space.subspaces.push_back(space.subspaces[0]);
  space.subspaces[1].algorithm = Algorithm::kTree;
  space.subspaces[1].numericalClass = 1;
  return space;
}
double bowlUs(const Config& c) {
  const double nc = std::log2(c.channels / 8.0), nt = std::log2(c.threads / 256.0),
               ch = std::log2(c.chunk / 65536.0);
  return (100 + 10 * (nc * nc + nt * nt + 0.25 * ch * ch)) *
         (c.algorithm == Algorithm::kTree ? 0.9 : 1);
}

TEST(PolicyTable, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  try {
    (void)makePolicy("gradient", Space{}, {});
    FAIL();
  } catch (const Error& e) {
    for (const auto name : policyNames())
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos);
  }
}

TEST(EveryPolicy, StartsAtTheDefaultAndEndsOnItsOwn) {
  for (const auto name : policyNames()) {
    auto policy = makePolicy(name, bowl(), {});
    EXPECT_EQ(policy->best(), bowl().fallback) << name;
    EXPECT_TRUE(drive(*policy, bowlUs, 5000).finished) << name;
  }
}

TEST(SubspaceRace, FindsTheFastestWhereEverySubspaceHoldsOneConfig) {
  Space space;
  space.task.nRanks = 2;
  space.task.bytes = 1 << 20;
  space.fallback = kUntouched;
  for (const Algorithm a : {Algorithm::kTree, Algorithm::kRing})
    for (const Protocol p : {Protocol::kLL, Protocol::kSimple})
      space.subspaces.push_back({a, p, Transport::kAuto, 0, {0}, {0}, {0}, 0});
  auto policy = makePolicy("subspacerace", space, {});
  const Outcome run = drive(*policy, [](const Config& c) {
    const bool fast = c.algorithm == Algorithm::kTree && c.protocol == Protocol::kLL;
    return fast ? 20.0 : 50.0;
  });
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.best.algorithm, Algorithm::kTree) << toText(run.best);
  EXPECT_EQ(run.best.protocol, Protocol::kLL);
}

TEST(EveryPolicy, EndsWhenEverySampleFailsAndKeepsTheDefault) {
  for (const auto name : policyNames()) {
    auto policy = makePolicy(name, bowl(), {});
    const Outcome run = drive(
        *policy, [](const Config&) { return 0.0; }, 5000);
    EXPECT_TRUE(run.finished) << name;
    EXPECT_EQ(run.best, bowl().fallback) << name;
  }
}

TEST(EveryPolicy, EndsWhenNoSampleComesBack) {
  for (const auto name : policyNames()) {
    auto policy = makePolicy(name, bowl(), {});
    for (int i = 0; i < 5000 && !policy->done(); ++i) {
      (void)policy->ask();
      policy->tell({});
    }
    EXPECT_TRUE(policy->done()) << name;
  }
}

TEST(EveryPolicy, TriesOnlyValidConfigsOrTheDefault) {
  Space space = bowl();
  space.valid = [](const Config& c) { return c.channels * c.chunk <= 262144 && c.threads != 128; };
  for (const auto name : policyNames()) {
    auto policy = makePolicy(name, space, {});
    for (const Config& c : drive(*policy, bowlUs, 5000).tried)
      EXPECT_TRUE(c == space.fallback || space.valid(c)) << name << " " << toText(c);
  }
}

TEST(EveryPolicy, DeterministicStaysInTheDefaultsNumericalClass) {
  PolicyOptions options;
  options.deterministic = true;
  for (const auto name : policyNames()) {
    auto policy = makePolicy(name, bowl(), options);
    for (const Config& c : drive(*policy, bowlUs, 5000).tried)
      EXPECT_EQ(c.algorithm, Algorithm::kRing) << name;
  }
}

TEST(EveryPolicy, IsAFunctionOfItsSeed) {
  const Surface surface = surfaceOf(3);
  for (const auto name : {"subspacerace", "paper", "artifact", "random", "anneal"}) {
    PolicyOptions options;
    options.seed = 9;
    EXPECT_EQ(search(name, surface, options, 0.05).tried,
              search(name, surface, options, 0.05).tried)
        << name;
  }
}

TEST(EveryPolicy, CopesWithAnEmptySpaceAndWithOneConfig) {
  Space empty;
  Space one;
  one.subspaces.push_back(
      {Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, {1}, {1}, {4096}, 0});
  one.fallback = one.subspaces[0].at(0, 0, 0);
  for (const auto name : policyNames())
    for (const Space& space : {empty, one}) {
      auto policy = makePolicy(name, space, {});
      EXPECT_TRUE(drive(
                      *policy, [](const Config&) { return 10.0; }, 5000)
                      .finished)
          << name;
      EXPECT_EQ(policy->best(), space.fallback) << name;
    }
}

TEST(Exhaustive, FindsTheLeastOfAll) {
  auto policy = makePolicy("exhaustive", bowl(), {});
  const Config best = drive(*policy, bowlUs).best;
  EXPECT_EQ(toText(best), "tree/simple/shm nc=8 nt=256 c=64K wait=spin");
}

TEST(SubspaceRace, KeepsToItsCalls) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    PolicyOptions options;
    options.seed = seed;
    EXPECT_LE(search("subspacerace", surfaceOf(seed), options, 0.1).calls, options.maxCalls);
  }
}

TEST(SubspaceRace, CallsThatItDidNotAskForAreHeardAndNotCounted) {
  const Surface surface = surfaceOf(3);
  Noise noise(weather(3, 0.1));
  auto policy = makePolicy("subspacerace", surface.space(), {});
  const Config& served = surface.space().fallback;
  int asked = 0;
  uint64_t index = 0;
  while (!policy->done()) {
    std::vector<Sample> samples;
    samples.reserve(200);
    for (int i = 0; i < 30; ++i)
      samples.push_back({served, noise.measure(surface.trueUs(served)), index++, false, false});
    for (const Trial& t : policy->ask()) {
      samples.push_back({t.config, noise.measure(surface.trueUs(t.config)), index++, false});
      ++asked;
    }
    policy->tell(samples);
  }
  EXPECT_GT(asked, 390);
  EXPECT_LE(asked, 400);
  EXPECT_GT(ofOracle(surface, policy->best()), 0.95);
}

TEST(SubspaceRace, ReachesTheOracleUnderNoiseDriftAndStragglers) {
  for (const auto& [sd, share] : {std::pair{0.02, 0.95}, {0.05, 0.9}, {0.10, 0.85}}) {
    int reached = 0;
    constexpr int kSeeds = 20;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      PolicyOptions options;
      options.seed = seed;
      const Surface surface = surfaceOf(seed);
      reached += ofOracle(surface, search("subspacerace", surface, options, sd).best) >= 0.95;
    }
    EXPECT_GE(reached, kSeeds * share) << sd;
  }
}

TEST(SubspaceRace, PrefersFewerChannelsAmongEquals) {
  Space space = bowl();
  space.subspaces.resize(1);
  auto policy = makePolicy("subspacerace", space, {});
  const Config slow = space.fallback;
  const auto us = [&](const Config& c) { return c == slow ? 130.0 : 100.0; };
  EXPECT_LE(drive(*policy, us).best.channels, 2);
}

TEST(SubspaceRace, TriesAStartingPointInItsFirstRound) {
  PolicyOptions options;
  options.starts = {parseConfig("tree/simple/shm nc=16 nt=512 c=256K wait=spin")};
  auto policy = makePolicy("subspacerace", bowl(), options);
  const auto trials = policy->ask();
  EXPECT_TRUE(std::any_of(trials.begin(), trials.end(),
                          [&](auto& t) { return t.config == options.starts[0]; }));
}

/// As measured for 1 MiB on 8 ranks of 16 cores (bench/results/cores16-n8-1M.json): many subspaces
/// of few configs, three of which hold all that is near the default (75 us), and a second worker
/// gains.
double eightRanksUs(const Config& c) {
  if (c.algorithm != Algorithm::kTwoShot || c.protocol != Protocol::kZero)
    return 130 * (1 + static_cast<double>(c.algorithm)) * (c.protocol == Protocol::kZero ? 1 : 1.6);
  const double steps = std::abs(std::log2(c.chunk / 16384.0));
  const double least = c.threads == 2 ? 57 : c.channels == 2 ? 60.5 : 65.7;
  return least * (1 + 0.02 * steps) * (1 + 0.015 * c.extra);
}

TEST(SubspaceRace, FindsASecondWorkerAmongManySmallSubspaces) {
  Space space;
  space.task.bytes = 1 << 20;
  space.fallback = {Algorithm::kTwoShot, Protocol::kZero, Transport::kShm, 0, 1, 1, 65536};
  for (const Algorithm a :
       {Algorithm::kTwoShot, Algorithm::kRing, Algorithm::kTree, Algorithm::kHalvingDoubling})
    for (const Transport t : {Transport::kShm, Transport::kCma})
      for (const Protocol p : {Protocol::kZero, Protocol::kSimple})
        for (uint8_t wait = 0; wait < 3; ++wait) {
          if (p == Protocol::kZero && t == Transport::kCma) continue;
          Subspace s{a, p, t, wait, {1, 2}, {1, 2}, {}, 0};
          for (uint32_t chunk = 4096; chunk <= 4u << 20; chunk *= 2) s.chunks.push_back(chunk);
          space.subspaces.push_back(std::move(s));
        }
  space.valid = [](const Config& c) { return c.channels * c.threads <= 2; };
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    PolicyOptions options;
    options.seed = seed;
    Noise noise(weather(seed, 0.08));
    auto policy = makePolicy("subspacerace", space, options);
    const Outcome run =
        drive(*policy, [&](const Config& c) { return noise.measure(eightRanksUs(c)); });
    EXPECT_LE(eightRanksUs(run.best), 57 * 1.08) << seed << ": " << toText(run.best);
  }
}

TEST(SubspaceRace, CopesWithNinetySubspaces) {
  Space space = bowl();
  const Subspace first = space.subspaces[0];
  space.subspaces.clear();
  for (const Algorithm a : {Algorithm::kRing, Algorithm::kTree, Algorithm::kOneShot,
                            Algorithm::kTwoShot, Algorithm::kHalvingDoubling})
    for (const Protocol p : {Protocol::kLL, Protocol::kSimple, Protocol::kZero})
      for (const Transport t : {Transport::kShm, Transport::kCma})
        for (uint8_t extra = 0; extra < 3; ++extra) {
          Subspace s = first;
          s.algorithm = a, s.protocol = p, s.transport = t, s.extra = extra;
          space.subspaces.push_back(s);
        }
  const auto us = [](const Config& c) {
    return bowlUs(c) * (1 + 0.3 * double(c.algorithm) + 0.2 * double(c.protocol) + 0.5 * c.extra);
  };
  auto policy = makePolicy("subspacerace", space, {});
  const Outcome run = drive(*policy, us);
  EXPECT_LE(run.calls, 400);
  EXPECT_LE(us(run.best), 110);
}

/// The paper's worked example: threads 16 -> 32 -> 64 while the time falls (16 ms -> 14 ms).
TEST(PaperDescent, DoublesTheThreadsAgainAfterTask2FallsFrom16To14Ms) {
  Space space;
  space.task.bytes = 40 << 20;
  space.task.nRanks = 2;
  space.fallback = {Algorithm::kRing, Protocol::kLL, Transport::kShm, 0, 8, 16, 2 << 20};
  space.subspaces.push_back(
      {Algorithm::kRing, Protocol::kLL, Transport::kShm, 0, {8}, {16, 32, 64, 128}, {2 << 20}, 0});
  const std::map<int, double> ms{{16, 16}, {32, 14}, {64, 13}, {128, 15}};
  // The start is random: look at the seed that begins at 16 threads.
  for (uint64_t seed = 1; seed < 100; ++seed) {
    PolicyOptions options;
    options.seed = seed;
    auto policy = makePolicy("paper", space, options);
    if (policy->ask()[0].config.threads != 16) continue;
    std::vector<int> threads{16};
    policy->tell(std::vector<Sample>{{space.fallback, 16e3, 0, false}});
    for (uint64_t i = 1; !policy->done() && i < 20; ++i) {
      const auto trials = policy->ask();
      if (trials.empty()) break;
      threads.push_back(trials[0].config.threads);
      policy->tell(std::vector<Sample>{{trials[0].config, ms.at(threads.back()) * 1e3, i, false}});
    }
    ASSERT_GE(threads.size(), 3u);
    EXPECT_EQ(threads[1], 32);
    EXPECT_EQ(threads[2], 64);
    EXPECT_EQ(policy->best().threads, 64);
    return;
  }
  FAIL() << "no seed began at 16 threads";
}

TEST(PaperDescent, NeverStepsBelowItsRandomStart) {
  const Surface surface = surfaceOf(4);
  PolicyOptions options;
  const Outcome run = search("paper", surface, options, 0);
  std::map<std::tuple<Algorithm, Protocol, Transport>, Config> start;
  for (const Config& c : run.tried) {
    const auto at = start.try_emplace({c.algorithm, c.protocol, c.transport}, c).first->second;
    EXPECT_GE(c.channels, at.channels);
    EXPECT_GE(c.threads, at.threads);
    EXPECT_GE(c.chunk, at.chunk);
  }
}

TEST(ArtifactDescent, MeasuresTheDefaultFirst) {
  auto policy = makePolicy("artifact", bowl(), {});
  const auto trials = policy->ask();
  ASSERT_EQ(trials.size(), 1u);
  EXPECT_EQ(trials[0].config, bowl().fallback);
}

}  // namespace
}  // namespace autoccl
