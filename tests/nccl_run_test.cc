// `autoccl run` over a program in plain NCCL, which knows nothing of us: the look-alike behind it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "shell.h"
#include "store/file.h"
#include "store/run_record.h"

namespace autoccl {
namespace {

namespace fs = std::filesystem;

class NcclRun : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("autoccl-nccl-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string file(const char* name) const { return (folder_ / name).string(); }
  [[nodiscard]] static std::string bin() { return AUTOCCL_BIN_DIR; }
  /// The program as two ranks, with `variables` before and options of `autoccl run` after.
  [[nodiscard]] Ended run(const std::string& variables, const std::string& options,
                          const std::string& program) const {
    const std::string id = file("id") + std::to_string(++runs_) + "-";  // a new one for each run
    return shell("cd " + folder_.string() + " && NCCL_PROGRAM_ID=" + id + " " + variables +
                 " timeout 120 " + bin() + "/autoccl run --no-profile --json " +
                 file("record.json") + " " + options + " -- " + program);
  }
  [[nodiscard]] Ended runRanks(const std::string& variables, const std::string& arguments) const {
    return run("AUTOCCL_LOG=info " + variables, "-n 2 --engine nccl --budget 100",
               bin() + "/nccl_program " + arguments);
  }
  [[nodiscard]] RunRecord record() const {
    return readRunRecord(readWholeFile(file("record.json")).value_or(""), "record.json");
  }
  /// The digests of results and choices that the ranks printed.
  [[nodiscard]] static std::set<std::string> digests(const std::string& output) {
    std::set<std::string> found;
    const std::regex line("wrong 0 digest [0-9a-f]+ choices ([0-9a-f]+)");
    for (std::sregex_iterator at(output.begin(), output.end(), line), end; at != end; ++at)
      found.insert((*at)[1]);
    return found;
  }

  fs::path folder_;
  mutable int runs_ = 0;
};

TEST_F(NcclRun, AnUnmodifiedProgramIsTunedByPreloadingAlone) {
  const std::regex line(
      "NCCL 2\\.28\\.9 \\(.*libnccl\\.so\\.2\\): 3000 collective calls on 1 communicator; ([0-9]+) "
      "tuned");
  int tuned = 0;  // a crowded machine can spend the whole budget at one fence: then once more
  for (int tries = 0; tries < 5 && tuned == 0; ++tries) {
    const Ended ended = runRanks("", "--calls 3000 --sizes 65536 --kinds ar");
    ASSERT_EQ(ended.status, 0) << ended.output;
    EXPECT_EQ(digests(ended.output).size(), 1u) << "all ranks chose alike: " << ended.output;
    std::smatch found;
    ASSERT_TRUE(std::regex_search(ended.output, found, line)) << ended.output;
    tuned = std::stoi(found[1]);
    const RunRecord r = record();
    ASSERT_EQ(r.tasks.size(), 1u);
    EXPECT_GT(r.tasks[0].calls, 0u);
  }
  EXPECT_GT(tuned, 0);
}

TEST_F(NcclRun, WithoutGpuStampsTheCallsAreTimedOnTheirStreams) {
  const Ended ended =
      runRanks("NCCL_DOUBLE_VERSION=22602", "--calls 2000 --sizes 65536 --kinds ar");
  ASSERT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(digests(ended.output).size(), 1u) << ended.output;
  const RunRecord r = record();
  ASSERT_EQ(r.tasks.size(), 1u) << ended.output;
  EXPECT_GT(r.tasks[0].calls, 0u) << "times of calls reached the leader";
}

TEST_F(NcclRun, ANcclWithoutPluginsRunsAndSaysSo) {
  const Ended ended = runRanks("NCCL_DOUBLE_VERSION=21805", "--calls 50");
  ASSERT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("NCCL 2.18.5"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("has no tuner plugins"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("nothing was tuned"), std::string::npos) << ended.output;
}

TEST_F(NcclRun, GroupsSplitsAndNonBlockingCommunicatorsKeepTheirResults) {
  for (const char* shape :
       {"--group 4", "--split", "--nonblocking", "--nonblocking --group 3", "--abort"}) {
    const Ended ended = runRanks("", std::string("--calls 200 ") + shape);
    EXPECT_EQ(ended.status, 0) << shape << ": " << ended.output;
    EXPECT_EQ(ended.output.find("error"), std::string::npos) << shape << ": " << ended.output;
  }
}

TEST_F(NcclRun, ALauncherPassesTheVariablesOnToItsRanks) {
  const Ended ended = run("AUTOCCL_LOG=info", "--engine nccl --budget 100",
                          bin() + "/nccl_program -n 2 --calls 1000 --sizes 65536 --kinds ar");
  ASSERT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(digests(ended.output).size(), 1u) << ended.output;
  EXPECT_EQ(record().tasks.size(), 1u) << ended.output;
}

TEST_F(NcclRun, AProgramWithoutNcclRunsAsIfWeWereNotThere) {
  const Ended ended = run("", "--engine nccl", "sh -c 'echo out; exit 3'");
  EXPECT_EQ(ended.status, 3) << ended.output;
  EXPECT_EQ(ended.output.rfind("out\n", 0), 0u) << ended.output;
  EXPECT_NE(ended.output.find("no NCCL communicator of two or more ranks"), std::string::npos);
}

TEST_F(NcclRun, TheUsersOwnPreloadStaysAndOursComesFirst) {
  const Ended ended = run("LD_PRELOAD=libm.so.6", "--engine nccl -q", "sh -c 'echo $LD_PRELOAD'");
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.output.find("libnccl-tuner-autoccl.so:libm.so.6\n"), std::string::npos)
      << ended.output;
}

TEST_F(NcclRun, ADangerousVariableIsWarnedOfOnce) {
  const Ended ended = run("NCCL_P2P_USE_CUDA_MEMCPY=1", "--engine nccl -q", "true");
  EXPECT_EQ(ended.status, 0);
  const size_t first = ended.output.find("NCCL_P2P_USE_CUDA_MEMCPY=1 is set: NCCL can deadlock");
  ASSERT_NE(first, std::string::npos) << ended.output;
  EXPECT_EQ(ended.output.find("NCCL_P2P_USE", first + 1), std::string::npos);
}

TEST_F(NcclRun, UntunedNothingIsPreloaded) {
  const Ended ended = run("", "--engine nccl --no-tune -q", "sh -c 'echo [$LD_PRELOAD]'");
  EXPECT_EQ(ended.output, "[]\n");
}

TEST_F(NcclRun, TheChoiceIsMadeByWhatTheProgramNames) {
  const Ended nccl = run("", "--engine auto -q", bin() + "/nccl_program -n 2 --calls 20");
  EXPECT_EQ(nccl.status, 0) << nccl.output;
  const Ended named =
      run("NCCL_DOUBLE_VERSION=21805", "--engine auto -q", bin() + "/nccl_program -n 2 --calls 20");
  EXPECT_NE(named.output.find("has no tuner plugins"), std::string::npos) << named.output;
  const Ended cpu =
      run("NCCL_DOUBLE_VERSION=21805", "--engine cpu -q", bin() + "/nccl_program -n 2 --calls 20");
  EXPECT_EQ(cpu.output.find("has no tuner plugins"), std::string::npos) << cpu.output;
}

}  // namespace
}  // namespace autoccl
