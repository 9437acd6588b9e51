// autoccl-gpu-bench on the doubles: the whole program, from its fork to its tables.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "direct/image.h"
#include "shell.h"

namespace autoccl {
namespace {

const std::string kBench = "LD_LIBRARY_PATH=" AUTOCCL_BIN_DIR "/../lib/doubles " AUTOCCL_BIN_DIR
                           "/autoccl-gpu-bench --memory 16M --without-nccl ";

class GpuBench : public ::testing::Test {
 protected:
  void SetUp() override {
    if (direct::embeddedImage().empty()) GTEST_SKIP() << "this build has no nvcc, so no kernels";
  }
};

TEST_F(GpuBench, ChecksEveryKindOfConfigOnEveryRank) {
  const Ended ended = shell(kBench +
                            "--ranks 3 --check-only --sizes 1000,64K --collectives "
                            "allreduce,allgather,reducescatter,broadcast,alltoall");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("results checked on each rank"), std::string::npos) << ended.output;
}

TEST_F(GpuBench, PrintsALineForEachContenderAndWritesTheSameAsJson) {
  const std::string json = ::testing::TempDir() + "gpu_bench.json";
  const Ended ended = shell(kBench +
                            "--ranks 2 --check --rounds 2 --sizes 512K --collectives "
                            "allgather --json " +
                            json);
  EXPECT_EQ(ended.status, 0) << ended.output;
  for (const char* way : {" direct ", " zero ", " ce ", " cezero "})
    EXPECT_NE(ended.output.find(way), std::string::npos) << ended.output;
  std::ifstream file(json);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(text.find("\"schema\": \"autoccl-gpu-bench-1\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"contender\": \"cezero\""), std::string::npos) << text;
  std::remove(json.c_str());
}

TEST_F(GpuBench, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(shell(kBench + "--collectives allreduce,gather").status, 2);
  EXPECT_EQ(shell(kBench + "--sizes 12x").status, 2);
  EXPECT_EQ(shell("CUDA_DOUBLE_DEVICES=1 " + kBench).status, 2) << "one GPU";
}

}  // namespace
}  // namespace autoccl
