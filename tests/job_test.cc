// The main job as a user starts it: `autoccl run` over processes that call the library.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "shell.h"
#include "store/file.h"
#include "store/profile.h"
#include "store/run_record.h"

namespace autoccl {
namespace {

namespace fs = std::filesystem;

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
    return shell("cd " + folder_.string() + " && timeout 120 " + bin + "/autoccl run --profile " +
                 file("profile.json") + " --json " + file("record.json") + " " + options + " -- " +
                 bin + "/looper " + looper);
  }
  [[nodiscard]] RunRecord record() const {
    return readRunRecord(readWholeFile(file("record.json")).value_or(""), "record.json");
  }

  fs::path folder_;
};

TEST_F(JobTest, AJobIsTunedOnlineAndItsRecordAndProfileAreWritten) {
  const Ended ended = run("-n 2 --budget 100", "--bytes 65536 --seconds 60 --until-tuned");
  ASSERT_EQ(ended.status, 0) << ended.output;
  const RunRecord r = record();
  const auto task = std::find_if(r.tasks.begin(), r.tasks.end(), [](const TaskRecord& t) {
    return t.task.collective == Collective::kAllReduce;
  });
  ASSERT_NE(task, r.tasks.end());
  EXPECT_GT(task->calls, 0u);
  EXPECT_FALSE(task->history.empty());
  EXPECT_GE(task->gain, 1.0) << "the default stays where nothing is better";
  // On a crowded machine the search may still go on; what has converged must be in the profile.
  if (task->state != "converged") return;
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

/// Runs the job again and again until it ends well. Every run quarantines what broke it, so the
/// runs are at most as many as there are configs to break it, few with these fields. Returns the
/// failures.
template <class Run>
int failuresUntilItFinishes(const Run& runOnce) {
  for (int failures = 0; failures < 40; ++failures)
    if (runOnce()) return failures;
  return -1;
}

TEST_F(JobTest, AConfigThatCrashesTheJobIsQuarantinedByTheNextRun) {
  const std::string fields = "twoshot/simple/shm,nc=1,nt=1";
  int named = 0;
  const int failures = failuresUntilItFinishes([&] {
    const Ended ended =
        run("-n 2 --budget 100", "--bytes 65536 --seconds 60 --until-tuned --crash " + fields);
    named += ended.output.find("quarantined: twoshot/simple/shm") != std::string::npos ? 1 : 0;
    return ended.status == 0;
  });
  EXPECT_GT(failures, 0) << "the search never tried such a config, or no run ended well";
  EXPECT_GT(named, 0) << "no run named the config that ended it";
}

TEST_F(JobTest, AHangInATrialEndsAtTheTimeoutAndIsQuarantined) {
  const std::string fields = "ring/ll/shm,nc=1,wait=yield";
  EXPECT_GE(failuresUntilItFinishes([&] {
              return run("-n 2 --budget 100 --timeout 6",
                         "--bytes 65536 --seconds 3 --until-tuned --hang " + fields)
                         .status == 0;
            }),
            0);
}

TEST_F(JobTest, WrongSettingsAreRefusedBeforeTheStart) {
  EXPECT_EQ(run("-n 2 --policy quickest", "").status, 2);
  EXPECT_EQ(run("-n 0", "").status, 2);
  const Ended ended = run("-n 2 --objective speed", "");
  EXPECT_NE(ended.output.find("objective"), std::string::npos);
}

}  // namespace
}  // namespace autoccl
