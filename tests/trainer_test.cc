// The example trainer as a user starts it: the same numbers whatever the tuner does.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace autoccl {
namespace {

namespace fs = std::filesystem;

class TrainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("autoccl-trainer-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// All losses of one run; none when it failed.
  [[nodiscard]] std::vector<double> losses(const std::string& variables,
                                           const std::string& runOptions,
                                           const std::string& trainOptions) const {
    const std::string bin = AUTOCCL_BIN_DIR, json = (folder_ / "train.json").string();
    fs::remove(json);
    const std::string command = "cd " + folder_.string() + " && " + variables + " timeout 200 " +
                                bin + "/autoccl run --quiet --no-profile " + runOptions + " -- " +
                                bin +
                                "/autoccl-train --batch 4 --every 1000 --ranks-check --json " +
                                json + " " + trainOptions + " >/dev/null";
    if (const int status = std::system(command.c_str()); status != 0) {
      ADD_FAILURE() << "status " << status << " of " << command;
      return {};
    }
    std::ifstream in(json);
    return nlohmann::json::parse(in).at("losses").get<std::vector<double>>();
  }

  fs::path folder_;
};

TEST_F(TrainerTest, TuningOnAndOffGivesTheSameLossesBitForBitWhenDeterministic) {
  for (const std::string ranks : {"-n 2", "-n 3"}) {
    const auto off = losses("", "--no-tune " + ranks, "--steps 40");
    const auto on = losses("AUTOCCL_DETERMINISTIC=1", "--budget 100 " + ranks, "--steps 40");
    ASSERT_EQ(off.size(), 40U);
    EXPECT_EQ(off, on) << ranks;
    EXPECT_LT(off.back(), off.front());
  }
}

TEST_F(TrainerTest, OrdinaryMemoryGivesTheSameLosses) {
  const auto shared = losses("", "--no-tune -n 2", "--steps 10");
  const auto ordinary = losses("", "--no-tune -n 2", "--steps 10 --ordinary");
  ASSERT_EQ(shared.size(), 10U);
  EXPECT_EQ(shared, ordinary);
}

TEST_F(TrainerTest, ABadOptionEndsWithStatus2) {
  const std::string command = std::string(AUTOCCL_BIN_DIR) + "/autoccl-train --steps 0 2>/dev/null";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
}  // namespace autoccl
