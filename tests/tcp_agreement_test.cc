// The CPU engine's ranks agreeing as ranks of several hosts do: over TCP, in processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "shell.h"
#include "store/file.h"
#include "store/run_record.h"

namespace autoccl {
namespace {

namespace fs = std::filesystem;

const std::string kBin = AUTOCCL_BIN_DIR;
constexpr int64_t kEndNs = 20'000'000'000;  // for survivors of a kill, on a crowded machine

class TcpAgreement : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("autoccl-tcp-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    set("AUTOCCL_AGREEMENT_LINKS", "tcp");
    set("AUTOCCL_LOG", "info");
  }
  void TearDown() override {
    for (const std::string& name : names_) unsetenv(name.c_str());
    fs::remove_all(folder_);
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }

  /// `autoccl run` of the looper.
  [[nodiscard]] Ended run(const std::string& options, const std::string& looper) const {
    return shell("cd " + folder_.string() + " && timeout 120 " + kBin +
                 "/autoccl run --no-profile --json record.json " + options + " -- " + kBin +
                 "/looper " + looper);
  }

  /// One rank of a job that nobody launches: nobody ends the others when one dies.
  pid_t start(int rank, int nRanks, const std::vector<std::string>& words) const {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setenv("AUTOCCL_RANK", std::to_string(rank).c_str(), 1);
    setenv("AUTOCCL_NRANKS", std::to_string(nRanks).c_str(), 1);
    setenv("AUTOCCL_ID", ("tcp" + std::to_string(getppid())).c_str(), 1);
    setenv("AUTOCCL_TUNE", "1", 1);
    setenv("AUTOCCL_BUDGET", "100", 1);
    setenv("AUTOCCL_FENCE_TIMEOUT", "4", 1);
    const int out = open(file("rank" + std::to_string(rank)).c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    const std::string looper = kBin + "/looper";
    std::vector<char*> args{const_cast<char*>(looper.c_str())};
    for (const std::string& word : words) args.push_back(const_cast<char*>(word.c_str()));
    args.push_back(nullptr);
    execv(args[0], args.data());
    _exit(127);
  }

  /// Three ranks; one is killed after they have agreed on something. The survivors must come to
  /// their end, with an error or a result, by themselves.
  void killOne(int victim) {
    constexpr int kRanks = 3;
    std::vector<pid_t> pids;
    for (int r = 0; r < kRanks; ++r)
      pids.push_back(start(r, kRanks, {"--bytes", "65536", "--seconds", "60"}));
    const int64_t deadline = nowNs() + 60'000'000'000;
    while (said(0).find("version ") == std::string::npos && nowNs() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_NE(said(0).find("version "), std::string::npos) << said(0);
    kill(pids[static_cast<size_t>(victim)], SIGKILL);
    const int64_t killedNs = nowNs();
    for (int r = 0; r < kRanks; ++r) {
      int status = 0;
      const pid_t pid = pids[static_cast<size_t>(r)];
      while (waitpid(pid, &status, WNOHANG) == 0 && nowNs() - killedNs < kEndNs)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const bool ended = kill(pid, 0) != 0;
      if (!ended) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
      }
      EXPECT_TRUE(ended) << "rank " << r << " still runs: " << said(r);
      EXPECT_TRUE(r == victim || WIFEXITED(status)) << "rank " << r << ": " << said(r);
    }
    std::printf("rank %d killed: all ended %.2f s later\n", victim,
                static_cast<double>(nowNs() - killedNs) / 1e9);
  }

  [[nodiscard]] std::string said(int rank) const {
    return readWholeFile(file("rank" + std::to_string(rank))).value_or("");
  }

  fs::path folder_;

 private:
  std::vector<std::string> names_;
};

/// What follows each `mark` in the text, up to the end of its word.
std::multiset<std::string> wordsAfter(const std::string& text, const std::string& mark) {
  std::multiset<std::string> words;
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const size_t from = at + mark.size();
    words.insert(text.substr(from, text.find_first_of(" \n", from) - from));
  }
  return words;
}

TEST_F(TcpAgreement, AJobOfThreeRanksIsTunedAndAllRanksRanTheSameConfigs) {
  const Ended ended = run("-n 3 --budget 100", "--bytes 65536 --seconds 60 --until-tuned");
  ASSERT_EQ(ended.status, 0) << ended.output;
  const auto digests = wordsAfter(ended.output, "digest ");
  EXPECT_EQ(digests.size(), 3u) << ended.output;
  EXPECT_EQ(digests.count(digests.empty() ? "" : *digests.begin()), 3u) << ended.output;
  const RunRecord r = readRunRecord(readWholeFile(file("record.json")).value_or(""), "record");
  ASSERT_FALSE(r.tasks.empty());
  EXPECT_FALSE(r.tasks[0].history.empty()) << "trials ran and were measured on all ranks";
}

TEST_F(TcpAgreement, SurvivorsOfAKilledLeaderComeToAnEnd) {
  killOne(0);
}

TEST_F(TcpAgreement, SurvivorsOfAKilledWorkerComeToAnEnd) {
  killOne(1);
}

TEST_F(TcpAgreement, MixedLinksOnlyKeepTuningOff) {
  set("AUTOCCL_INIT_TIMEOUT", "2");
  std::vector<pid_t> pids;
  for (int r = 0; r < 2; ++r) {
    set("AUTOCCL_AGREEMENT_LINKS", r == 0 ? "tcp" : "shm");
    pids.push_back(start(r, 2, {"--bytes", "4096", "--seconds", "4"}));
  }
  for (int r = 0; r < 2; ++r) {
    int status = 0;
    waitpid(pids[static_cast<size_t>(r)], &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << said(r);
  }
  EXPECT_NE(said(0).find("rank 1 did not join within 2 s"), std::string::npos) << said(0);
}

}  // namespace
}  // namespace autoccl
