// The main job as a user starts it: `autoccl run` over processes that call the library.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "store/file.h"
#include "store/profile.h"
#include "store/run_record.h"
#include "tune/journal.h"

namespace autoccl {
namespace {

namespace fs = std::filesystem;

struct Ended {
  int status = 0;
  std::string output;
};

Ended shell(const std::string& command) {
  Ended ended;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> part{};
  while (size_t n = fread(part.data(), 1, part.size(), pipe)) ended.output.append(part.data(), n);
  const int status = pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

class JobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("autoccl-job-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string file(const char* name) const { return (folder_ / name).string(); }
  /// `autoccl run` of the looper with a profile, a record and more options before the "--".
  [[nodiscard]] Ended run(const std::string& options, const std::string& looper) const {
    const std::string bin = AUTOCCL_BIN_DIR;
    return shell("cd " + folder_.string() + " && timeout 120 " + bin +
                 "/autoccl run --quiet --profile " + file("profile.json") + " --json " +
                 file("record.json") + " " + options + " -- " + bin + "/looper " + looper);
  }
  [[nodiscard]] RunRecord record() const {
    return readRunRecord(readWholeFile(file("record.json")).value_or(""), "record.json");
  }

  fs::path folder_;
};

TEST_F(JobTest, AJobIsTunedOnlineAndItsRecordAndProfileAreWritten) {
  const Ended ended = run("-n 2 --budget 100", "--bytes 65536 --seconds 40 --until-tuned");
  ASSERT_EQ(ended.status, 0) << ended.output;
  const RunRecord r = record();
  ASSERT_FALSE(r.tasks.empty());
  const auto task = std::find_if(r.tasks.begin(), r.tasks.end(), [](const TaskRecord& t) {
    return t.task.collective == Collective::kAllReduce;
  });
  ASSERT_NE(task, r.tasks.end());
  EXPECT_EQ(task->state, "converged") << ended.output;
  EXPECT_GE(task->gain, 1.0);
  EXPECT_FALSE(task->history.empty());
  const Profile profile =
      readProfile(readWholeFile(file("profile.json")).value_or(""), "profile.json");
  EXPECT_NE(profile.find(task->task), nullptr);
}

TEST_F(JobTest, ResultsAreTheSameWithTuningOnAndOff) {
  // Small integers in float32: every order of summation gives the same bits.
  const std::string looper = "--bytes 4096 --seconds 1";
  const Ended off = run("-n 3 --no-tune", looper), on = run("-n 3", looper);
  EXPECT_EQ(off.status, 0) << off.output;
  EXPECT_EQ(on.status, 0) << on.output;
}

TEST_F(JobTest, InCheckModeEveryConfigGivesTheDefaultsResult) {
  setenv("AUTOCCL_CHECK", "1", 1);
  const Ended ended = run("-n 2 --budget 100", "--bytes 65536 --seconds 3");
  unsetenv("AUTOCCL_CHECK");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(ended.output.find("check:"), std::string::npos) << ended.output;
}

TEST_F(JobTest, OrdinaryBuffersAreTunedToo) {
  const Ended ended =
      run("-n 2 --budget 100", "--bytes 262144 --seconds 20 --until-tuned --ordinary");
  EXPECT_EQ(ended.status, 0) << ended.output;
}

/// True if the record's history names a config that has the field.
bool tried(const RunRecord& r, const std::string& field) {
  for (const TaskRecord& t : r.tasks)
    for (const HistoryEntry& h : t.history)
      if (toText(h.config).find(field) != std::string::npos) return true;
  return false;
}

TEST_F(JobTest, AConfigThatCrashesTheJobIsQuarantinedByTheNextRun) {
  const std::string looper = "--bytes 65536 --seconds 30 --until-tuned --crash nc=2";
  bool finished = false;
  int crashes = 0;
  for (int i = 0; i < 40 && !finished; ++i) {
    const Ended ended = run("-n 2 --budget 100", looper);
    finished = ended.status == 0;
    crashes += finished ? 0 : 1;
    if (!finished)
      EXPECT_NE(ended.output.find("nc=2"), std::string::npos) << "the run names the config:\n"
                                                              << ended.output;
  }
  EXPECT_TRUE(finished);
  EXPECT_GT(crashes, 0) << "the search never tried two channels";
  EXPECT_FALSE(tried(record(), "nc=2 "));
}

TEST_F(JobTest, AHangInATrialEndsAtTheTimeoutAndIsQuarantined) {
  const std::string looper = "--bytes 65536 --seconds 30 --until-tuned --hang nc=2";
  bool finished = false;
  for (int i = 0; i < 40 && !finished; ++i)
    finished = run("-n 2 --budget 100 --timeout 4", looper).status == 0;
  EXPECT_TRUE(finished);
}

TEST_F(JobTest, WrongSettingsAreRefusedBeforeTheStart) {
  EXPECT_EQ(run("-n 2 --policy quickest", "").status, 2);
  EXPECT_EQ(run("-n 0", "").status, 2);
  const Ended ended = run("-n 2 --objective speed", "");
  EXPECT_NE(ended.output.find("objective"), std::string::npos);
}

}  // namespace
}  // namespace autoccl
