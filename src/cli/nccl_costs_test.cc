#include "cli/nccl_costs.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/testing/command.h"

namespace autoccl::cli {
namespace {

const std::string kFolder = AUTOCCL_SOURCE_DIR "/bench/results/";

TEST(NcclCosts, TheModelGivesWhatNcclGaveItsTunerOnRealMachines) {
  for (const char* name : {"nccl-costs-nvlink.json", "nccl-costs-shm.json",
                           "nccl-costs-sockets.json", "nccl-costs-sockets4.json"}) {
    const CostError error = compare(readRecordedCosts(readInput(kFolder + name), name));
    EXPECT_EQ(error.choices, 30) << name;
    EXPECT_EQ(error.sameChoices, error.choices) << name;
    EXPECT_EQ(error.presence, 0) << name;
    EXPECT_LT(error.largest, 0.001) << name;
  }
}

TEST(NcclCosts, BrokenFilesAreRefusedByLine) {
  for (const char* text :
       {"{}", "[]", R"({"schema": "x"})",
        R"({"schema": "autoccl-nccl-costs/1", "nccl": "2", "machine": "m", "date": "d", "nodes": 2,
          "ranks": 1, "compute_capability": 90, "cpu": "intel", "simple_tree": true, "graphs": [],
          "rows": []})"}) {
    std::string said;
    try {
      (void)readRecordedCosts(text, "c.json");
    } catch (const Error& e) {
      said = e.what();
    }
    EXPECT_TRUE(said.starts_with("c.json:")) << text << " gave " << said;
  }
}

TEST(Sim, SaysWhatNcclWouldChooseAndHowFarItIsFromARecording) {
  const Output o = runAutoccl({"sim", "--as", "nccl", "--gpus", "2", "--check",
                               kFolder + "nccl-costs-nvlink.json", "--collective", "allreduce"});
  EXPECT_EQ(o.status, kDone) << o.err;
  EXPECT_NE(o.out.find("simulated"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("30 of 30 choices"), std::string::npos) << o.out;
}

TEST(Sim, BadWordsAreNamedWithTheAllowedOnes) {
  for (const auto& [words, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"sim", "--as", "rccl"}, "known are nccl"},
           {{"sim", "--as", "nccl", "--gpu", "x"}, "known are v100"},
           {{"sim", "--as", "nccl", "--collective", "alltoall"}, "allowed are broadcast"},
           {{"sim", "--as", "nccl", "--nodes", "2", "--nics", "0"}, "give --nics"}}) {
    const Output o = runAutoccl(words);
    EXPECT_EQ(o.status, kUsage) << o.err;
    EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
  }
}

}  // namespace
}  // namespace autoccl::cli
