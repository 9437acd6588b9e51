// The GPU engine beside NCCL, on the doubles: calls of one communicator go to either by agreement.
#include <gtest/gtest.h>

#include "direct/image.h"
#include "tests/nccl_double/job_runner.h"

namespace autoccl {
namespace {

using testing::Environment;
using testing::Ran;
using testing::runJob;

const std::string kLibrary = AUTOCCL_BIN_DIR "/../lib/libnccl-tuner-autoccl.so";

class NcclDirect : public ::testing::Test {
 protected:
  void SetUp() override {
    if (direct::embeddedImage().empty()) GTEST_SKIP() << "this build has no nvcc, so no kernels";
  }
  static Environment preloaded(const Environment& more = {}) {
    Environment all{{"LD_PRELOAD", kLibrary},        {"AUTOCCL_TUNE", "1"},
                    {"AUTOCCL_LOG", "info"},         {"AUTOCCL_DIRECT", "1"},
                    {"AUTOCCL_DIRECT_MEMORY", "8M"}, {"AUTOCCL_BUDGET", "100"},
                    {"AUTOCCL_INIT_TIMEOUT", "30"},  {"HOME", "/nonexistent"}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static bool triesTheEngine(const Ran& ran) { return ran.says("/p2p nc=") && ran.says("/ce nc="); }
};

TEST_F(NcclDirect, CallsOfOneCommunicatorGoToEitherAndResultsAreRight) {
  const Ran ran =
      runJob("nccl_program -n 3 --calls 900 --kinds ar,ag,rs,bc --sizes 262144", preloaded());
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_TRUE(ran.says("the GPU engine is there")) << ran.text;
  EXPECT_TRUE(triesTheEngine(ran)) << ran.text;
  EXPECT_TRUE(ran.says("/auto nc=")) << "NCCL's own configs are tried too: " << ran.text;
  EXPECT_TRUE(ran.says("rank 2 calls 900 wrong 0")) << ran.text;
}

TEST_F(NcclDirect, CapturedAndGroupedCallsAreRightBetweenTheOthers) {
  const Ran ran =
      runJob("nccl_program -n 2 --calls 400 --kinds ar --sizes 65536 --capture", preloaded());
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_TRUE(ran.says("rank 1 calls 400 wrong 0")) << ran.text;
  const Ran grouped =
      runJob("nccl_program -n 2 --calls 300 --kinds ar --sizes 65536 --group 3", preloaded());
  EXPECT_EQ(grouped.status, 0) << grouped.text;
  EXPECT_TRUE(grouped.says("wrong 0")) << grouped.text;
}

TEST_F(NcclDirect, EachPartOfASplitHasAnEngineOfItsOwn) {
  const Ran ran =
      runJob("nccl_program -n 4 --split --calls 700 --kinds ar,ag --sizes 65536", preloaded());
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_TRUE(triesTheEngine(ran)) << ran.text;
}

TEST_F(NcclDirect, AnAbortEndsIt) {
  const Ran ran = runJob("nccl_program -n 2 --calls 400 --kinds ar --abort", preloaded());
  EXPECT_EQ(ran.status, 0) << ran.text;
}

TEST_F(NcclDirect, ADeadPeerIsAnErrorOfTheCommunicator) {
  const Ran ran = runJob(
      "nccl_program -n 2 --calls 3000 --kinds ar --sizes 262144 --kill 1 --kill-at 150 "
      "--expect-error",
      preloaded(), 30);
  EXPECT_EQ(ran.status, 3) << ran.text;
}

TEST_F(NcclDirect, WhereItCannotWorkEverythingIsNccls) {
  const std::pair<Environment, const char*> kCases[] = {
      {{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}, "CUDA_DEVICE_MAX_CONNECTIONS=1"},
      {{{"CUDA_DOUBLE_NO_IPC", "1"}}, "cannot be shared with other processes"},
      {{{"CUDA_DOUBLE_MIG", "1"}}, "MIG slice"},
      {{{"CUDA_DOUBLE_FREE_MIB", "10"}}, "lower AUTOCCL_DIRECT_MEMORY"}};
  for (const auto& [variable, reason] : kCases) {
    const Ran ran =
        runJob("nccl_program -n 2 --calls 200 --kinds ar --sizes 65536", preloaded(variable));
    EXPECT_EQ(ran.status, 0) << ran.text;
    EXPECT_TRUE(ran.says("no GPU engine: ")) << ran.text;
    EXPECT_TRUE(ran.says(reason)) << ran.text;
    EXPECT_FALSE(ran.says("/p2p nc=")) << ran.text;
  }
}

TEST_F(NcclDirect, SeveralHostsHaveNone) {
  const Ran ran = runJob("nccl_program -n 4 --hosts 2 --calls 200 --kinds ar", preloaded());
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_TRUE(ran.says("not all on one host")) << ran.text;
}

TEST_F(NcclDirect, UnsetNothingIsOffered) {
  const Ran ran = runJob("nccl_program -n 2 --calls 300 --kinds ar --sizes 262144",
                         preloaded({{"AUTOCCL_DIRECT", "0"}}));
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_FALSE(ran.says("GPU engine")) << ran.text;
}

}  // namespace
}  // namespace autoccl
