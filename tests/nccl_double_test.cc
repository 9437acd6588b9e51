// The doubles alone: programs in plain NCCL over processes, every version, and the conformance
// program, whose assertions were put to the real library (docs/nccl-conformance.md).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/nccl_double/job_runner.h"

namespace autoccl {
namespace {

using testing::choicesOf;
using testing::Environment;
using testing::Ran;
using testing::runJob;
using testing::TraceFolder;

const std::string kDoubles = AUTOCCL_BIN_DIR "/../lib/doubles";

void expectAllAlike(const Ran& ran, size_t ranks) {
  EXPECT_EQ(ran.status, 0) << ran.text;
  const auto choices = choicesOf(ran);
  EXPECT_EQ(choices.size(), ranks) << ran.text;
  EXPECT_EQ(std::set<std::string>(choices.begin(), choices.end()).size(), 1U) << ran.text;
}

class EveryVersion : public ::testing::TestWithParam<int> {};

TEST_P(EveryVersion, RunsMixedCollectivesWithTheSameChoicesOnAllRanks) {
  expectAllAlike(runJob("nccl_program -n 4 --calls 60 --group 3",
                        {{"NCCL_DOUBLE_VERSION", std::to_string(GetParam())}}),
                 4);
}
INSTANTIATE_TEST_SUITE_P(Nccl, EveryVersion,
                         ::testing::Values(21805, 21903, 22005, 22105, 22203, 22304, 22403, 22501,
                                           22605, 22707, 22809, 22907, 23007, 23102, 23200),
                         [](const auto& p) { return "v" + std::to_string(p.param); });

class Conformance : public ::testing::TestWithParam<int> {};

TEST_P(Conformance, HoldsEveryAssertionThatIsMadeOfThisVersion) {
  const Ran ran = runJob(
      "nccl_conformance --seconds 30",
      {{"NCCL_DOUBLE_VERSION", std::to_string(GetParam())}, {"LD_LIBRARY_PATH", kDoubles}}, 300);
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_TRUE(ran.says(" 0 refuted")) << ran.text;
}
INSTANTIATE_TEST_SUITE_P(Nccl, Conformance, ::testing::Values(21903, 22602, 22809, 23007, 23102),
                         [](const auto& p) { return "v" + std::to_string(p.param); });

TEST(ConformancePage, AnswersEveryAssertion) {
  std::ifstream file(AUTOCCL_SOURCE_DIR "/docs/nccl-conformance.md");
  std::stringstream page;
  page << file.rdbuf();
  const Ran list = runJob("nccl_conformance --list", {{"LD_LIBRARY_PATH", kDoubles}});
  ASSERT_EQ(list.status, 0) << list.text;
  std::istringstream lines(list.text);
  int assertions = 0;
  for (std::string id; lines >> id; lines.ignore(4096, '\n'), ++assertions)
    EXPECT_NE(page.str().find("| " + id + " |"), std::string::npos) << id;
  EXPECT_GT(assertions, 70);
}

TEST(NcclDouble, RunsSixteenRanksOnTwoHosts) {
  expectAllAlike(runJob("nccl_program -n 16 --hosts 2 --calls 40"), 16);
}

TEST(NcclDouble, CallsOverTheHalvesOfASplit) {
  EXPECT_EQ(runJob("nccl_program -n 4 --calls 40 --split --group 2").status, 0);
}

TEST(NcclDouble, ServesNonBlockingCommunicators) {
  expectAllAlike(runJob("nccl_program -n 3 --calls 40 --nonblocking --group 2"), 3);
}

TEST(NcclDouble, ReplaysGraphs) {
  expectAllAlike(runJob("nccl_program -n 2 --calls 60 --capture"), 2);
}

TEST(NcclDouble, EndsByAbort) {
  EXPECT_EQ(runJob("nccl_program -n 2 --calls 20 --abort").status, 0);
}

TEST(NcclDouble, TellsTheSurvivorsOfADeath) {
  const Ran ran = runJob("nccl_program -n 4 --calls 200 --kill 1 --kill-at 30 --expect-error");
  EXPECT_EQ(ran.status, 3) << ran.text;
  EXPECT_TRUE(ran.says("another rank failed")) << ran.text;
}

TEST(NcclDouble, FailsACallWithAWrongRootAndGoesOn) {
  expectAllAlike(runJob("nccl_program -n 2 --calls 40 --fail-on 1"), 2);
}

TEST(NcclDouble, RefusesRanksOfAnotherVersion) {
  const Ran ran = runJob("nccl_program -n 2 --calls 5 --env-of 1 NCCL_DOUBLE_VERSION=22707");
  EXPECT_EQ(ran.status, 1) << ran.text;
  EXPECT_TRUE(ran.says("has version 22707")) << ran.text;
}

TEST(NcclDouble, RefusesTwoRanksOnOneGpu) {
  const Ran ran = runJob("nccl_program -n 2 --calls 5", {{"CUDA_DOUBLE_DEVICES", "1"}});
  EXPECT_EQ(ran.status, 1) << ran.text;
  EXPECT_TRUE(ran.says("share a GPU")) << ran.text;
}

TEST(NcclDouble, TakesTheUsersAlgorithm) {
  const TraceFolder trace;
  const Ran ran = runJob("nccl_program -n 2 --calls 40 --kinds ar",
                         {{"NCCL_ALGO", "Tree"}, {"NCCL_DOUBLE_TRACE", trace.path()}});
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(trace.calls(), 80U);
  EXPECT_TRUE(trace.lines({"call ", "RING"}).empty());
}

TEST(NcclDouble, PosesAsRccl) {
  const Ran ran = runJob("nccl_conformance --nccl librccl.so.1 --only both-names,asked-once,forced",
                         {{"LD_LIBRARY_PATH", kDoubles}});
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_TRUE(ran.says("3 confirmed")) << ran.text;
}

TEST(NcclDouble, TrainsASmallNetwork) {
  const Ran ran = runJob("nccl_trainer -n 4");
  EXPECT_EQ(ran.status, 0) << ran.text;
}

TEST(NcclDouble, LeavesNothingInSharedMemory) {
  const auto files = [] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      names.insert(entry.path().filename());
    return names;
  };
  const auto before = files();
  EXPECT_EQ(runJob("nccl_program -n 2 --calls 10 --kill 1 --kill-at 5 --expect-error").status, 3);
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace autoccl
