// Variants on the double: communicators made beside a program's own, and calls that are switched to
// them under agreement. The double's traces say which communicator read what at its start and what
// ran on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

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
const std::string kSome = "nccl_program -n 2 --calls 600 --kinds ar --sizes 262144";
constexpr int kCalls = 600;

Environment preloaded(const TraceFolder& trace, const std::string& variants,
                      const Environment& more = {}) {
  Environment all{
      {"LD_PRELOAD", kLibrary},           {"AUTOCCL_TUNE", "1"},          {"AUTOCCL_LOG", "info"},
      {"AUTOCCL_VARIANTS", variants},     {"AUTOCCL_INIT_TIMEOUT", "20"}, {"HOME", "/nonexistent"},
      {"NCCL_DOUBLE_TRACE", trace.path()}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Every rank chose the same at every call of every communicator, and nothing was punished.
void expectOneChoicePerCall(const Ran& ran, const TraceFolder& trace) {
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(trace.firstDifference(), "");
  for (const char* what : {"mismatch", "crash", "overrun"})
    EXPECT_TRUE(trace.lines({what}).empty()) << trace.lines({what}).front();
}

/// The agreement's digests, by session: one each.
void expectOneDigestPerSession(const Ran& ran) {
  std::map<std::string, std::set<std::string>> digests;
  std::istringstream text(ran.text);
  for (std::string line; std::getline(text, line);)
    if (const size_t at = line.find("configs of "); at != std::string::npos)
      digests[line.substr(at + 11, line.find(' ', at + 11) - at - 11)].insert(
          line.substr(line.find("digest ")));
  EXPECT_FALSE(digests.empty()) << ran.text;
  for (const auto& [session, found] : digests) EXPECT_EQ(found.size(), 1U) << session;
}

/// Calls of rank 0 on communicators whose first line has all the words.
size_t callsOn(const TraceFolder& trace, const std::vector<std::string>& words) {
  size_t calls = 0;
  for (const auto& entry : std::filesystem::directory_iterator(trace.path())) {
    std::ifstream file(entry.path());
    std::string first;
    std::getline(file, first);
    const auto holds = [&](const std::string& word) {
      return first.find(word) != std::string::npos;
    };
    if (!holds("rank=0 ") || !std::all_of(words.begin(), words.end(), holds)) continue;
    for (std::string line; std::getline(file, line);) calls += line.starts_with("call ") ? 1 : 0;
  }
  return calls;
}

class VariantsByRelease : public ::testing::TestWithParam<int> {};

TEST_P(VariantsByRelease, AreSwitchedAtOneCallOnAllRanks) {
  TraceFolder trace;
  const auto all = [&] { return callsOn(trace, {"threshold=0 ", "buffer=4194304"}); };
  const auto few = [&] { return callsOn(trace, {"threshold=65536 "}); };
  const auto buffers = [&] {
    return callsOn(trace, {"buffer=1048576 "}) + callsOn(trace, {"buffer=16777216 "});
  };
  const Ran ran = runUntil([&] { return all() > 0 && few() > 0 && buffers() > 0; }, 500,
                           "nccl_program -n 3 --kinds ar,bc --sizes 262144", trace,
                           preloaded(trace, "threads,buffers",
                                     {{"NCCL_DOUBLE_VERSION", std::to_string(GetParam())},
                                      {"AUTOCCL_VARIANT_MEMORY", "16G"}}));
  expectOneChoicePerCall(ran, trace);
  expectOneDigestPerSession(ran);
  EXPECT_GT(all(), 0U) << "all-threads";
  EXPECT_GT(few(), 0U) << "few-threads";
  EXPECT_GT(buffers(), 0U);
}
INSTANTIATE_TEST_SUITE_P(Nccl, VariantsByRelease,
                         ::testing::Values(21805, 21903, 22105, 22203, 22403, 22605, 22707, 22809,
                                           22907, 23007, 23102, 23200),
                         [](const auto& p) { return "v" + std::to_string(p.param); });

TEST(NcclVariants, NoneIsMadeUnlessAskedFor) {
  const TraceFolder trace;
  const Ran ran = runJob(kSome, preloaded(trace, ""));
  expectOneChoicePerCall(ran, trace);
  EXPECT_EQ(trace.lines({"comm rank="}).size(), 2U);
}

TEST(NcclVariants, APairOfItsOwnServesTheReleaseWithoutATuner) {
  TraceFolder trace;
  const auto ranAs = [&](const char* pair) { return !trace.lines({"call ", pair}).empty(); };
  const Ran ran = runUntil([&] { return ranAs("TREE/SIMPLE") && ranAs("RING/LL "); }, kCalls, kSome,
                           trace, preloaded(trace, "threads", {{"NCCL_DOUBLE_VERSION", "21805"}}));
  expectOneChoicePerCall(ran, trace);
  EXPECT_TRUE(ranAs("TREE/SIMPLE")) << ran.text;
  EXPECT_TRUE(ranAs("RING/LL ")) << ran.text;
}

TEST(NcclVariants, AnotherTransportTakesACopyOfTheLibrary) {
  TraceFolder trace;
  const auto by = [&](const char* way) { return callsOn(trace, {way}); };
  const Ran ran = runUntil([&] { return by("way=shm") > 0 && by("way=net") > 0; }, kCalls, kSome,
                           trace, preloaded(trace, "transport"));
  expectOneChoicePerCall(ran, trace);
  for (const char* way : {"way=shm", "way=net", "way=p2p"}) EXPECT_GT(by(way), 0U) << ran.text;
}

TEST(NcclVariants, BuffersNeedNoCopyWhereTheReleaseReadsThemAgain) {
  for (const auto& [version, copies] : {std::pair("22809", true), std::pair("22907", false)}) {
    TraceFolder trace;
    const auto large = [&] { return callsOn(trace, {"buffer=16777216 "}); };
    const Ran ran = runUntil([&] { return large() > 0; }, kCalls, kSome, trace,
                             preloaded(trace, "buffers",
                                       {{"NCCL_DOUBLE_VERSION", version},
                                        {"NCCL_DEBUG", "INFO"},
                                        {"NCCL_DEBUG_SUBSYS", "ENV"}}));
    expectOneChoicePerCall(ran, trace);
    EXPECT_GT(large(), 0U) << version;
    EXPECT_EQ(ran.says("NCCL_BUFFSIZE is read without a cache"), !copies) << version;
  }
}

TEST(NcclVariants, WhatFailsOnOneRankIsOfferedOnNone) {
  for (const char* fails : {"NCCL_DOUBLE_FAIL_INIT=2", "NCCL_DOUBLE_FAIL_INIT=-2"}) {
    TraceFolder trace;
    const auto other = [&] { return callsOn(trace, {"threshold=0 "}); };
    const Ran ran = runUntil([&] { return other() > 0; }, kCalls, kSome + " --env-of 1 " + fails,
                             trace, preloaded(trace, "threads"));
    expectOneChoicePerCall(ran, trace);
    EXPECT_TRUE(ran.says("few-threads could not be made")) << ran.text;
    EXPECT_TRUE(ran.says("variants on rank 0 of 2: there are all-threads\n")) << ran.text;
    EXPECT_EQ(callsOn(trace, {"threshold=65536 "}), 0U);
    EXPECT_GT(other(), 0U) << "the other one";
  }
}

TEST(NcclVariants, MemoryIsShownAndCapped) {
  const TraceFolder trace;
  const Ran ran =
      runJob(kSome, preloaded(trace, "threads,buffers", {{"AUTOCCL_VARIANT_MEMORY", "700M"}}));
  expectOneChoicePerCall(ran, trace);
  EXPECT_TRUE(ran.says("few-threads takes about 604 MiB of GPU memory")) << ran.text;
  EXPECT_TRUE(ran.says("large-buffers is left out")) << ran.text;
  EXPECT_TRUE(ran.says("there are few-threads\n")) << ran.text;
}

TEST(NcclVariants, WhatTheUserHasSetStays) {
  const TraceFolder trace;
  const Ran ran =
      runJob(kSome, preloaded(trace, "threads,buffers", {{"NCCL_BUFFSIZE", "2097152"}}));
  expectOneChoicePerCall(ran, trace);
  EXPECT_TRUE(ran.says("small-buffers is left out: NCCL_BUFFSIZE is set")) << ran.text;
  EXPECT_TRUE(trace.lines({"comm rank=", "buffer=1048576"}).empty());
}

TEST(NcclVariants, AWordThatIsNoneIsNamedAndTheProgramRuns) {
  const TraceFolder trace;
  const Ran ran = runJob(kSome, preloaded(trace, "thread"));
  expectOneChoicePerCall(ran, trace);
  EXPECT_TRUE(ran.says("'thread' is no variant")) << ran.text;
}

TEST(NcclVariants, GroupsCapturesAndNonBlockingCallsStayOnTheProgramsCommunicator) {
  for (const std::string how : {"--nonblocking", "--capture", "--group 3"}) {
    const TraceFolder trace;
    const Ran ran =
        runJob("nccl_program -n 2 --calls 200 --sizes 65536 " + how, preloaded(trace, "threads"));
    expectOneChoicePerCall(ran, trace);
    expectOneDigestPerSession(ran);
  }
  const TraceFolder trace;
  const Ran ran =
      runJob("nccl_program -n 2 --calls 200 --nonblocking", preloaded(trace, "threads"));
  EXPECT_EQ(trace.lines({"comm rank="}).size(), 2U) << "none is made for it";
}

TEST(NcclVariants, RanksOfTwoHostsHaveThemToo) {
  TraceFolder trace;
  const auto few = [&] { return callsOn(trace, {"threshold=65536 "}); };
  const Ran ran = runUntil([&] { return few() > 0; }, 500,
                           "nccl_program -n 4 --hosts 2 --kinds ar --sizes 262144", trace,
                           preloaded(trace, "threads"));
  expectOneChoicePerCall(ran, trace);
  EXPECT_GT(few(), 0U) << ran.text;
}

TEST(NcclVariants, ChildrenOfASplitHaveTheirOwn) {
  const TraceFolder trace;
  const Ran ran = runJob("nccl_program -n 4 --split --calls 500 --kinds ar --sizes 262144",
                         preloaded(trace, "threads"));
  expectOneChoicePerCall(ran, trace);
  expectOneDigestPerSession(ran);
  EXPECT_EQ(trace.lines({"comm rank=", "threshold=65536 "}).size(), 4U) << ran.text;
}

TEST(NcclVariants, AnAbortTakesThemAlong) {
  const TraceFolder trace;
  const Ran ran = runJob(kSome + " --abort", preloaded(trace, "threads,buffers"));
  expectOneChoicePerCall(ran, trace);
}

TEST(NcclVariants, SurvivorsOfAKilledRankGetAnError) {
  const TraceFolder trace;
  const Ran ran = runJob(
      "nccl_program -n 4 --calls 5000 --kinds ar --sizes 262144 --kill 2 --kill-at 300 "
      "--expect-error",
      preloaded(trace, "threads,buffers"));
  EXPECT_EQ(ran.status, 3) << ran.text;
  EXPECT_TRUE(ran.says("another rank failed")) << ran.text;
}

// ---- groups that share links ----

struct Turn {
  long long from = 0, to = 0;
  std::string owner;
};

/// "trials of NAME: turn taken at NS" … "given back at NS", of all processes: one clock.
std::vector<Turn> turnsIn(const Ran& ran) {
  std::map<std::string, Turn> open;
  std::vector<Turn> turns;
  std::istringstream text(ran.text);
  for (std::string line; std::getline(text, line);) {
    const size_t at = line.find("trials of ");
    if (at == std::string::npos) continue;
    const std::string owner = line.substr(at + 10, line.find(':', at + 10) - at - 10);
    const long long ns = std::stoll(line.substr(line.rfind(' ') + 1));
    if (line.find("turn taken") != std::string::npos) {
      open[owner] = {ns, 0, owner};
    } else if (const auto begun = open.find(owner); begun != open.end()) {
      begun->second.to = ns;
      turns.push_back(begun->second);
      open.erase(begun);
    }
  }
  std::sort(turns.begin(), turns.end(),
            [](const auto& a, const auto& b) { return a.from < b.from; });
  return turns;
}

TEST(NcclParallel, GroupsOfATrainingJobAreTunedAtOnceAndTheirTrialsDoNotOverlap) {
  const TraceFolder trace;
  const Ran ran =
      runJob("nccl_parallel --steps 300", preloaded(trace, "", {{"AUTOCCL_LOG", "debug"}}), 120);
  expectOneChoicePerCall(ran, trace);
  const auto turns = turnsIn(ran);
  std::set<std::string> owners;
  for (const Turn& turn : turns) owners.insert(turn.owner);
  EXPECT_GE(owners.size(), 6U) << "four tensor and four data groups have leaders of their own";
  EXPECT_FALSE(ran.says("not waited for"));
  for (size_t i = 1; i < turns.size(); ++i)
    EXPECT_LE(turns[i - 1].to, turns[i].from) << turns[i - 1].owner << " and " << turns[i].owner;
}

TEST(NcclParallel, EveryGroupHasVariantsOfItsOwn) {
  const TraceFolder trace;
  const Ran ran = runJob("nccl_parallel --steps 100", preloaded(trace, "threads,transport"), 120);
  expectOneChoicePerCall(ran, trace);
  expectOneDigestPerSession(ran);
  EXPECT_EQ(trace.lines({"comm rank=", "way=net"}).size(), 16U) << "eight ranks of two groups each";
  EXPECT_EQ(trace.lines({"comm rank=", "threshold=65536 "}).size(), 16U);
}

}  // namespace
}  // namespace autoccl
