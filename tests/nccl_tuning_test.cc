// Stock programs tuned online on the double: plugins, interposer and agreement over processes, with
// nothing set but a preload or a plugin's name. The double notes every choice and punishes what
// NCCL punishes; docs/nccl-conformance.md says how far it is the real one.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>

#include "tests/nccl_double/job_runner.h"

namespace autoccl {
namespace {

using testing::choicesOf;
using testing::Environment;
using testing::Ran;
using testing::runJob;
using testing::runUntil;
using testing::TraceFolder;

const std::string kLibrary = AUTOCCL_BIN_DIR "/../lib/libnccl-tuner-autoccl.so";

/// Tuning by preloading alone. HOME is nobody's, so that no profile is read or left.
Environment preloaded(const TraceFolder& trace, const Environment& more = {}) {
  Environment all{{"LD_PRELOAD", kLibrary},
                  {"AUTOCCL_TUNE", "1"},
                  {"AUTOCCL_LOG", "info"},
                  {"HOME", "/nonexistent"},
                  {"NCCL_DOUBLE_TRACE", trace.path()}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// What the double would have punished, and what it only notes.
void expectNothingWrong(const TraceFolder& trace) {
  for (const char* what : {"mismatch", "crash", "overrun"})
    EXPECT_TRUE(trace.lines({what}).empty()) << trace.lines({what}).front();
  const auto answers = trace.lines({"tuner func="});
  for (const std::string& answer : answers) {
    EXPECT_NE(answer.find(" touched=0 "), std::string::npos) << answer;
    const auto number = [&](const char* name) {
      return std::stoi(answer.substr(answer.find(name) + std::string(name).size()));
    };
    EXPECT_GE(number(" asked="), 0) << answer;
    EXPECT_LE(number(" asked="), 64) << answer;
  }
  for (const std::string& chunk : trace.lines({"chunk incoming="})) {
    const auto number = [&](const char* name) {
      return std::stoul(chunk.substr(chunk.find(name) + std::string(name).size()));
    };
    EXPECT_GE(number("answered="), number("grain=")) << chunk;
    EXPECT_EQ(number("answered=") % number("grain="), 0U) << chunk;
    EXPECT_LE(number("answered="), number("most=")) << chunk;
  }
}

void expectOneChoicePerCall(const Ran& ran, const TraceFolder& trace) {
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(trace.firstDifference(), "");
  const auto choices = choicesOf(ran);
  EXPECT_EQ(std::set<std::string>(choices.begin(), choices.end()).size(), 1U) << ran.text;
  expectNothingWrong(trace);
}

/// Answers in which a pair was forced or a number of channels given.
size_t tunedAnswers(const TraceFolder& trace) {
  const auto answers = trace.lines({"tuner func="});
  return static_cast<size_t>(
      std::count_if(answers.begin(), answers.end(), [](const std::string& answer) {
        return answer.find(" changed=0 ") == std::string::npos ||
               answer.find(" asked=0 ") == std::string::npos;
      }));
}

class EveryVersion : public ::testing::TestWithParam<int> {};

TEST_P(EveryVersion, TakesOneChoicePerCallOnAllRanks) {
  TraceFolder trace;
  const bool hasTable = GetParam() >= 22200;  // before, a pair is answered unchecked
  const auto tuned = [&] { return !hasTable || tunedAnswers(trace) > 0; };
  const Ran ran = runUntil(tuned, 300, "nccl_program -n 4 --kinds ar,ag --sizes 262144", trace,
                           preloaded(trace, {{"NCCL_DOUBLE_VERSION", std::to_string(GetParam())}}));
  expectOneChoicePerCall(ran, trace);
  EXPECT_TRUE(tuned()) << ran.text;
}
INSTANTIATE_TEST_SUITE_P(Nccl, EveryVersion,
                         ::testing::Values(21805, 21903, 22105, 22203, 22304, 22403, 22605, 22707,
                                           22809, 22907, 23007, 23102, 23200),
                         [](const auto& p) { return "v" + std::to_string(p.param); });

TEST(NcclTuning, AgreesOnAThousandMixedCallsOfEightRanks) {
  TraceFolder trace;
  const Ran ran =
      runUntil([&] { return tunedAnswers(trace) > 0; }, 1000,
               "nccl_program -n 8 --group 2 --sizes 16384,262144", trace, preloaded(trace));
  expectOneChoicePerCall(ran, trace);
  EXPECT_GE(trace.calls(), 8000U);
  EXPECT_GT(tunedAnswers(trace), 0U) << ran.text;
}

TEST(NcclTuning, AgreesOnAThousandMixedCallsOfTwoHostsOfEight) {
  TraceFolder trace;
  const Ran ran =
      runUntil([&] { return tunedAnswers(trace) > 0; }, 1000,
               "nccl_program -n 16 --hosts 2 --kinds ar,rs --sizes 65536", trace, preloaded(trace));
  expectOneChoicePerCall(ran, trace);
  EXPECT_GE(trace.calls(), 16000U);
  EXPECT_GT(tunedAnswers(trace), 0U) << ran.text;
}

TEST(NcclTuning, AgreesOnHostsWithUnequalNumbersOfRanks) {
  TraceFolder trace;
  const Ran ran =
      runUntil([&] { return tunedAnswers(trace) > 0; }, 400,
               "nccl_program -n 5 --hosts 2 --kinds ar --sizes 65536", trace, preloaded(trace));
  expectOneChoicePerCall(ran, trace);
  EXPECT_GT(tunedAnswers(trace), 0U) << ran.text;
}

TEST(NcclTuning, RunsThePairsItForces) {
  TraceFolder trace;
  const auto pairs = [&] {
    int run = 0;
    for (const char* pair :
         {"RING/LL ", "RING/LL128 ", "RING/SIMPLE ", "TREE/LL ", "TREE/LL128 ", "TREE/SIMPLE "})
      run += trace.lines({"call ", pair}).empty() ? 0 : 1;
    return run;
  };
  const Ran ran = runUntil([&] { return pairs() >= 4; }, 400,
                           "nccl_program -n 2 --kinds ar --sizes 262144", trace, preloaded(trace));
  expectOneChoicePerCall(ran, trace);
  EXPECT_GE(pairs(), 4) << "the search has tried several pairs";
}

/// A job that NCCL loads the plugins into, without the interposer.
Ran runWithPluginsAlone(const std::string& words, const TraceFolder& trace,
                        const Environment& more = {}) {
  const std::string key = trace.path() + "/../nccl-tuning-test-key";
  std::ofstream(key) << "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(chmod(key.c_str(), 0600), 0);
  Environment all{{"NCCL_TUNER_PLUGIN", kLibrary}, {"NCCL_PROFILER_PLUGIN", kLibrary},
                  {"AUTOCCL_TUNE", "1"},           {"AUTOCCL_LOG", "info"},
                  {"HOME", "/nonexistent"},        {"AUTOCCL_COORDINATOR", "127.0.0.1:29731"},
                  {"AUTOCCL_KEY_FILE", key},       {"NCCL_DOUBLE_TRACE", trace.path()}};
  all.insert(all.end(), more.begin(), more.end());
  const Ran ran = runJob(words, all);
  std::remove(key.c_str());
  return ran;
}

TEST(NcclTuning, NeedsNoInterposerWhereACoordinatorIsNamed) {
  const TraceFolder trace;
  const Ran ran =
      runWithPluginsAlone("nccl_program -n 4 --calls 400 --kinds ar --sizes 262144", trace);
  expectOneChoicePerCall(ran, trace);
  EXPECT_GT(tunedAnswers(trace), 0U) << ran.text;
}

TEST(NcclTuning, WithPluginsAloneCapturedCallsStillTakeOneChoiceOnAllRanks) {
  for (const char* version : {"22707", "22809", "23102"}) {
    const TraceFolder trace;
    const Ran ran =
        runWithPluginsAlone("nccl_program -n 2 --calls 400 --kinds ar --sizes 65536 --capture",
                            trace, {{"NCCL_DOUBLE_VERSION", version}});
    EXPECT_EQ(ran.status, 0) << version << "\n" << ran.text;
    EXPECT_EQ(trace.firstDifference(), "") << version;
    expectNothingWrong(trace);
  }
}

TEST(NcclTuning, WithPluginsAloneASimulationOnOneRankEndsTuningAndNothingElse) {
  const TraceFolder trace;
  const Ran ran = runWithPluginsAlone(
      "nccl_program -n 4 --calls 1200 --kinds ar --sizes 65536 --simulate-on 1", trace);
  expectOneChoicePerCall(ran, trace);
  EXPECT_TRUE(ran.says("is off: rank 1 and rank 0 issued different calls")) << ran.text;
}

/// Calls of rank 0 before which somebody began to measure.
std::vector<long> measuredCalls(const TraceFolder& trace) {
  std::vector<long> calls;
  long last = -1;
  for (const std::string& line : trace.lines({"measured before "})) {
    const long call = std::stol(line.substr(std::string("measured before ").size()));
    if (call < last) break;  // the next rank's
    calls.push_back(last = call);
  }
  return calls;
}

TEST(NcclTuning, OnceSettledMeasuresNothingButInRareWindows) {
  const TraceFolder trace;
  const Ran ran =
      runJob("nccl_program -n 2 --calls 33000 --kinds ar --sizes 65536",
             preloaded(trace, {{"NCCL_DOUBLE_PACE", "0.2"}, {"AUTOCCL_BUDGET", "100"}}), 120);
  expectOneChoicePerCall(ran, trace);
  const auto calls = measuredCalls(trace);
  ASSERT_FALSE(calls.empty());
  long longest = 0, resumed = 0;
  for (size_t i = 1; i < calls.size(); ++i) {
    const long quiet = calls[i] - calls[i - 1];
    longest = std::max(longest, quiet);
    resumed += quiet > 1000;
  }
  EXPECT_GT(longest, 1000) << "no event of NCCL's or of CUDA's in between";
  EXPECT_GT(resumed, 0) << "measuring goes on where the choice is checked";
  EXPECT_LT(std::ssize(calls), 33000 / 2);
}

TEST(NcclTuning, TouchesNothingWhereItIsOff) {
  for (const char* off : {"AUTOCCL_TUNE=0", "AUTOCCL_DISABLE=1"}) {
    const TraceFolder trace;
    const std::string word = off;
    const size_t equals = word.find('=');
    const Ran ran = runJob("nccl_program -n 2 --calls 100 --kinds ar",
                           preloaded(trace, {{word.substr(0, equals), word.substr(equals + 1)}}));
    EXPECT_EQ(ran.status, 0) << ran.text;
    EXPECT_EQ(tunedAnswers(trace), 0U) << off;
  }
}

TEST(NcclTuning, LeavesTheUsersChoicesInForce) {
  const TraceFolder trace;
  const Ran ran = runJob(
      "nccl_program -n 2 --calls 300 --kinds ar --sizes 262144",
      preloaded(trace,
                {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "^LL128"}, {"NCCL_MAX_NCHANNELS", "4"}}));
  expectOneChoicePerCall(ran, trace);
  EXPECT_TRUE(trace.lines({"call ", "TREE"}).empty());
  EXPECT_TRUE(trace.lines({"call ", "LL128"}).empty());
  for (const std::string& line : trace.lines({"call "}))
    EXPECT_LE(std::stoi(line.substr(line.find("nc=") + 3)), 4) << line;
}

TEST(NcclTuning, SurvivesTheDeathOfTheLeaderAndOfAWorker) {
  for (const char* who : {"0", "2"}) {
    const TraceFolder trace;
    const auto begin = std::chrono::steady_clock::now();
    const Ran ran = runJob("nccl_program -n 4 --calls 2000 --kinds ar --sizes 65536 --kill " +
                               std::string(who) + " --kill-at 200 --expect-error",
                           preloaded(trace));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(ran.status, 3) << ran.text;  // an error on every survivor, none hangs or dies
    EXPECT_LT(took.count(), 50) << "within the time-out";
    expectNothingWrong(trace);
  }
}

TEST(NcclTuning, GoesOnWhenTheLeadersLinksAreCut) {
  const TraceFolder trace;
  const Ran ran = runJob("nccl_program -n 4 --calls 800 --kinds ar --sizes 65536 --cut-links 0",
                         preloaded(trace));
  EXPECT_TRUE(ran.says("rank 0 cut 3 connections")) << ran.text;
  expectOneChoicePerCall(ran, trace);
}

TEST(NcclTuning, GoesOnWhenAWorkersLinksAreCut) {
  const TraceFolder trace;
  const Ran ran = runJob("nccl_program -n 4 --calls 800 --kinds ar --sizes 65536 --cut-links 3",
                         preloaded(trace));
  EXPECT_TRUE(ran.says("rank 3 cut 1 connections")) << ran.text;
  expectOneChoicePerCall(ran, trace);
}

TEST(NcclTuning, StaysOffWhereARankHasNoInterposer) {
  const TraceFolder trace;
  const Ran ran = runJob(
      "nccl_program -n 4 --calls 300 --kinds ar --sizes 65536 --env-of 2 LD_PRELOAD= "
      "--env-of 2 NCCL_TUNER_PLUGIN= --env-of 2 NCCL_PROFILER_PLUGIN= --env-of 2 AUTOCCL_TUNE=",
      preloaded(trace, {{"AUTOCCL_INIT_TIMEOUT", "3"}}));
  expectOneChoicePerCall(ran, trace);
  EXPECT_EQ(tunedAnswers(trace), 0U);
  EXPECT_TRUE(ran.says("rank 2")) << ran.text;  // named
}

TEST(NcclTuning, IsNotLedAstrayByASimulationOnOneRank) {
  const TraceFolder trace;
  const Ran ran = runJob("nccl_program -n 4 --calls 600 --kinds ar --sizes 65536 --simulate-on 1",
                         preloaded(trace));
  expectOneChoicePerCall(ran, trace);
}

TEST(NcclTuning, IsNotLedAstrayByAFailingCallOnOneRank) {
  const TraceFolder trace;
  const Ran ran = runJob("nccl_program -n 4 --calls 600 --kinds ar --sizes 65536 --fail-on 2",
                         preloaded(trace));
  expectOneChoicePerCall(ran, trace);
}

TEST(NcclTuning, ChangesNothingAboutMixedLibraryVersions) {
  const TraceFolder trace;
  const Ran ran =
      runJob("nccl_program -n 2 --calls 5 --env-of 1 NCCL_DOUBLE_VERSION=22707", preloaded(trace));
  EXPECT_EQ(ran.status, 1) << ran.text;
  EXPECT_TRUE(ran.says("has version 22707")) << ran.text;
}

TEST(NcclTuning, TwoBuildsOfOursTuneNothingAndSayWhichRankDiffersInWhat) {
  const TraceFolder trace;
  const std::string other = AUTOCCL_BIN_DIR "/../lib/other/libnccl-tuner-autoccl.so";
  const Ran ran = runJob(
      "nccl_program -n 4 --calls 300 --kinds ar --sizes 65536 --env-of 2 LD_PRELOAD=" + other,
      preloaded(trace));
  expectOneChoicePerCall(ran, trace);
  EXPECT_EQ(tunedAnswers(trace), 0U);
  EXPECT_TRUE(ran.says("rank 2")) << ran.text;
  EXPECT_TRUE(ran.says("version")) << ran.text;
  EXPECT_TRUE(ran.says("0.0.9")) << ran.text;
}

TEST(NcclTuning, ServesSplitsAndNonBlockingCommunicators) {
  for (const char* how : {"-n 4 --split", "-n 3 --nonblocking", "-n 2 --abort", "-n 2 --capture"}) {
    const TraceFolder trace;
    const Ran ran =
        runJob("nccl_program --calls 300 --kinds ar,ag --sizes 65536 " + std::string(how),
               preloaded(trace));
    EXPECT_EQ(ran.status, 0) << how << "\n" << ran.text;
    EXPECT_EQ(trace.firstDifference(), "") << how;
    expectNothingWrong(trace);
  }
}

TEST(NcclTuning, AsksForNoLogger) {
  const TraceFolder trace;
  const Ran ran = runJob("nccl_program -n 2 --calls 200 --kinds ar --sizes 65536",
                         preloaded(trace, {{"NCCL_DOUBLE_NO_LOGGER", "1"}}));
  expectOneChoicePerCall(ran, trace);
}

TEST(NcclTuning, StandsStampsThatAreOverwritten) {
  const TraceFolder trace;
  const Ran ran = runJob("nccl_program -n 2 --calls 400 --kinds ar --sizes 16384",
                         preloaded(trace, {{"NCCL_DOUBLE_POLL_US", "200000"}}));
  expectOneChoicePerCall(ran, trace);
}

TEST(NcclTuning, KeepsNvlsAndCollnetWithinTheirChannelsAndChunks) {
  for (const char* version : {"22809", "23007"}) {
    const TraceFolder trace;
    const Ran ran = runJob("nccl_program -n 8 --hosts 2 --calls 300 --kinds ar,ag --sizes 262144",
                           preloaded(trace, {{"NCCL_DOUBLE_VERSION", version},
                                             {"NCCL_DOUBLE_NVLS", "1"},
                                             {"NCCL_DOUBLE_COLLNET", "1"},
                                             {"NCCL_COLLNET_ENABLE", "1"}}));
    expectOneChoicePerCall(ran, trace);
  }
}

TEST(NcclTuning, TrainsToTheSameWeights) {
  const TraceFolder trace;
  const Ran plain = runJob("nccl_trainer -n 4 --width 512");
  const Ran tuned = runJob("nccl_trainer -n 4 --width 512", preloaded(trace));
  EXPECT_EQ(plain.status, 0) << plain.text;
  EXPECT_EQ(tuned.status, 0) << tuned.text;
  const auto weights = [](const Ran& ran) {
    return ran.text.substr(ran.text.find("weights "), 24);
  };
  EXPECT_EQ(weights(tuned), weights(plain));
  expectNothingWrong(trace);
}

}  // namespace
}  // namespace autoccl
