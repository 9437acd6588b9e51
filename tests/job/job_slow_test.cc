// Failures in a trial at length (label slow): what job_test.cc does once, 20 times over one
// journal.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/config.h"
#include "shell.h"
#include "store/file.h"
#include "tune/journal.h"

namespace autoccl {
namespace {

namespace fs = std::filesystem;

/// Runs of one job, at several sizes, that share a journal. A run breaks, by a crash or a hang, at
/// the nth config that it tries; what it tried before must not hold anything that broke a run.
class BrokenTrials {
 public:
  static constexpr int kSizes = 5;

  BrokenTrials()
      : folder_(fs::temp_directory_path() / ("autoccl-broken-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~BrokenTrials() { fs::remove_all(folder_); }

  /// True if the config that it should break at was tried: then the job has ended badly.
  bool breakAt(int size, const std::string& how, int nth) {
    const auto want = static_cast<size_t>(nth);
    const Ended ended = run(size, "--seconds 60 --" + how + " " + std::to_string(nth), 6);
    const std::vector<Config> tried = configsTried();
    expectNoneThatBroke(size, tried);
    if (tried.size() <= want) return false;
    EXPECT_NE(ended.status, 0) << ended.output;
    EXPECT_EQ(tried.size(), want + 1) << "nothing ran after the config that broke the job";
    broke_[size].push_back(tried.back());
    return true;
  }

  void expectToFinish(int size) {
    const Ended ended = run(size, "--seconds 5 --until-tuned", 120);
    EXPECT_EQ(ended.status, 0) << ended.output;
    expectNoneThatBroke(size, configsTried());
  }

  [[nodiscard]] size_t differentOnes(int size) const {
    std::vector<Config> all = broke_.at(size);
    std::sort(all.begin(), all.end());
    return size_t(std::unique(all.begin(), all.end()) - all.begin());
  }

 private:
  Ended run(int size, const std::string& looper, int timeoutSeconds) {
    const std::string bin = AUTOCCL_BIN_DIR;
    fs::remove(folder_ / "tried");
    setenv("AUTOCCL_JOURNAL", (folder_ / "journal").c_str(), 1);
    Ended ended = shell(bin + "/autoccl run -n 2 --budget 100 --no-profile --timeout " +
                        std::to_string(timeoutSeconds) + " -- " + bin + "/looper --apart --bytes " +
                        std::to_string(65536 << size) + " --log " + (folder_ / "tried").string() +
                        " " + looper);
    unsetenv("AUTOCCL_JOURNAL");
    return ended;
  }

  [[nodiscard]] std::vector<Config> configsTried() const {
    std::vector<Config> configs;
    const std::string text = readWholeFile((folder_ / "tried").string()).value_or("");
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      configs.push_back(parseConfig(text.substr(at, end - at)));
      at = end + 1;
    }
    return configs;
  }

  /// Beside the first, the default.
  void expectNoneThatBroke(int size, const std::vector<Config>& tried) {
    for (size_t i = 1; i < tried.size(); ++i)
      for (const Config& broken : broke_[size])
        EXPECT_FALSE(atLeast(tried[i], broken))
            << toText(tried[i]) << " was tried after " << toText(broken) << " had broken the job";
  }

  fs::path folder_;
  std::map<int, std::vector<Config>> broke_;  // by size
};

TEST(TrialFailuresAtLength, TwentyCrashesAndHangsAreNeverTriedAgainAndTheJobFinishes) {
  BrokenTrials job;
  int injected = 0;
  for (int attempt = 0; injected < 20 && attempt < 40; ++attempt)
    injected += job.breakAt(injected % BrokenTrials::kSizes, injected % 2 ? "hang" : "crash",
                            1 + 5 * (injected / BrokenTrials::kSizes))
                    ? 1
                    : 0;
  EXPECT_EQ(injected, 20);
  for (int size = 0; size < BrokenTrials::kSizes; ++size) {
    EXPECT_EQ(job.differentOnes(size), 4u);
    job.expectToFinish(size);
  }
}

}  // namespace
}  // namespace autoccl
