// `autoccl bench` as a user starts it: our ranks, the limit's ranks, and every peer that was built.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "shell.h"
#include "store/file.h"
#include "store/json.h"

namespace autoccl {
namespace {

namespace fs = std::filesystem;

const std::string kBin = AUTOCCL_BIN_DIR;

Ended bench(const std::string& options) {
  return shell("timeout 250 " + kBin + "/autoccl bench --rounds 2 --round-ms 1 " + options);
}

std::string peersThatWereBuilt() {
  std::string names;
  for (const char* name : {"openmpi", "mpich", "gloo"})
    if (fs::exists(kBin + "/autoccl-peer-" + name))
      names += (names.empty() ? "" : ",") + std::string(name);
  return names;
}

/// The rows of `autoccl bench --json`, in a file of this process that is gone afterwards.
std::vector<Json> rowsOf(const std::string& options) {
  const fs::path path =
      fs::temp_directory_path() / ("autoccl-bench-" + std::to_string(getpid()) + ".json");
  const Ended ended = bench(options + " --quiet --json " + path.string());
  EXPECT_EQ(ended.status, 0) << ended.output;
  const auto text = readWholeFile(path.string());
  fs::remove(path);
  if (!text) return {};
  return parseJson(*text, "result").find("rows")->items();
}

std::set<std::string> contenders(const std::vector<Json>& rows) {
  std::set<std::string> who;
  for (const Json& row : rows) who.insert(row.find("who")->text());
  return who;
}

/// Processes whose program is one of the bench's.
int benchProcesses() {
  int found = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline");
    std::string program;
    if (!std::getline(in, program, '\0')) continue;
    found += program.starts_with(kBin + "/autoccl-bench-") ||
             program.starts_with(kBin + "/autoccl-peer-");
  }
  return found;
}

TEST(Bench, EveryLibraryGivesRightResultsOnTwoAndThreeRanks) {
  for (const char* ranks : {"2", "3"}) {
    const auto rows =
        rowsOf(std::string("-n ") + ranks +
               " --collective allreduce,allgather,reducescatter,broadcast,alltoall --sizes 1K,64K "
               "--check --vs " +
               peersThatWereBuilt());
    EXPECT_EQ(contenders(rows).count("default"), 1u);
    EXPECT_FALSE(rows.empty());
    for (const Json& row : rows) {
      EXPECT_EQ(row.find("wrong")->unsignedValue(), 0u) << row.compact();
      EXPECT_EQ(row.find("note")->text(), "") << row.compact();
      EXPECT_GT(row.find("median_us")->number(), 0) << row.compact();
    }
  }
}

TEST(Bench, TunedAndPinnedStandBesideTheDefaultUnderLoad) {
  const std::string pin = "twoshot/zero/shm nc=2 nt=1 c=16K wait=futex";
  const auto rows = rowsOf(
      "--sizes 16K --buffers registered --mode default,tuned --tune-seconds 2 "
      "--compute light --check --pin '" +
      pin + "'");
  EXPECT_EQ(contenders(rows), (std::set<std::string>{"default", "tuned", "pinned"}));
  for (const Json& row : rows) {
    EXPECT_EQ(row.find("wrong")->unsignedValue(), 0u) << row.compact();
    EXPECT_GT(row.find("compute_gflops")->number(), 0) << row.compact();
    if (row.find("who")->text() == "pinned") {
      EXPECT_EQ(row.find("config")->text(), pin);
    }
  }
}

TEST(Bench, AnImpossiblePinIsNotedAndTheRestIsMeasured) {
  const auto rows = rowsOf("--sizes 1K --buffers ordinary --pin 'ring/ll128/net nc=1 nt=1 c=64K'");
  ASSERT_EQ(rows.size(), 2u);
  for (const Json& row : rows)
    EXPECT_EQ(row.find("who")->text() == "pinned", !row.find("note")->text().empty())
        << row.compact();
}

TEST(Bench, BadUsageEndsWithTwoAndNamesTheArgument) {
  const Ended ended = bench("--vs nccl");
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.output.find("--vs: 'nccl'"), std::string::npos) << ended.output;
}

TEST(Bench, NoProcessOutlivesAConductorThatIsKilled) {
  const std::string peers = peersThatWereBuilt();
  const auto groups =
      3 + std::count(peers.begin(), peers.end(), ',');  // ours, the limit, the peers
  const std::string command = kBin + "/autoccl bench --sizes 64K --rounds 1000 --vs " + peers +
                              " >/dev/null 2>&1 & echo $!";
  const pid_t conductor = std::stoi(shell(command).output);
  for (int look = 0; look < 3000 && benchProcesses() < 2 * groups; ++look) usleep(10'000);
  EXPECT_EQ(benchProcesses(), 2 * groups);
  kill(conductor, SIGKILL);
  for (int look = 0; look < 3000 && benchProcesses() > 0; ++look) usleep(10'000);
  EXPECT_EQ(benchProcesses(), 0);
}

}  // namespace
}  // namespace autoccl
