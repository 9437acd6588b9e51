#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/testing/command.h"
#include "store/nccl/versions.h"
#include "topo/testing/fixtures.h"

namespace autoccl::cli {
namespace {

std::string written(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(Doctor, ReadsTheEnvironmentAndSaysWhatToWrite) {
  const Output o = runAutoccl({"doctor"}, {{"NCCL_BUFFSIZE", "4M"}});
  EXPECT_EQ(o.status, kFindings) << o.err;
  EXPECT_TRUE(contains(o.out, "NCCL_BUFFSIZE=4194304")) << o.out;
  EXPECT_TRUE(contains(o.out, "library: ")) << o.out;
}

TEST(Doctor, ShowsWhatEachReleaseLetsUsChangeAndMarksTheOneAskedFor) {
  const Output o = runAutoccl({"doctor", "--nccl-version", "2.30.7"});
  EXPECT_TRUE(contains(o.out, "2.30.3+ *")) << o.out;
  EXPECT_TRUE(contains(o.out, "interposer's CUDA events")) << o.out;
}

TEST(Doctor, TheDocumentShowsTheSameTableOfReleases) {
  std::ifstream file(AUTOCCL_SOURCE_DIR "/docs/nccl.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const size_t begin = page.find('\n', page.find("<!-- versions: begin")) + 1;
  const size_t end = page.find("<!-- versions: end -->");
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(page.substr(begin, end - begin), nccl::versionsMarkdown());
}

TEST(Doctor, TellsFilesApartByWhatIsInThem) {
  const TestFolder folder;
  const Output o =
      runAutoccl({"doctor", "--nccl-version", "2.27.3",
                  written(folder / "a", "NCCL_TUNER_PLUGIN=/opt/libx.so\n"),
                  written(folder / "b", "# r\nallreduce,0,4294967295,ring,simple,-1,-1,-1\n"),
                  written(folder / "c", "h:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n")});
  EXPECT_EQ(o.status, kFindings) << o.err;
  EXPECT_TRUE(contains(o.out, "NCCL settings, 1 of them")) << o.out;
  EXPECT_TRUE(contains(o.out, "issue 1732")) << o.out;
  EXPECT_TRUE(contains(o.out, "rule file, 1 rules")) << o.out;
  EXPECT_TRUE(contains(o.out, "4294967296 bytes and more has no rule")) << o.out;
  EXPECT_TRUE(contains(o.out, "version 2.28.9, tuner plugin unknown")) << o.out;
}

TEST(Doctor, AFileThatCannotBeReadIsNamedAndTheOthersAreRead) {
  const TestFolder folder;
  const Output o = runAutoccl({"doctor", folder / "none", written(folder / "empty", "\n#\n"),
                               written(folder / "binary", std::string("a\0b", 3)),
                               written(folder / "good", "NCCL_ALGO=rings\n"),
                               written(folder / "rules", "allreduce,0,1M,ring,simple,-1,-1,-1\n")});
  EXPECT_EQ(o.status, kUsage);
  for (const char* part :
       {"none", "empty: has no line", "binary: is a binary", "rules:1: max_bytes"})
    EXPECT_TRUE(contains(o.err, part)) << part << " is not in " << o.err;
  EXPECT_TRUE(contains(o.out, "'rings' is none of its words")) << o.out;
}

TEST(Doctor, HcclsVariablesAreReadToo) {
  const Output o = runAutoccl({"doctor"}, {{"HCCL_CHUNK_SIZE", "64"}});
  EXPECT_EQ(o.status, kFindings) << o.err;
  EXPECT_TRUE(contains(o.out, "HCCL has no such variable")) << o.out;
}

TEST(Doctor, EveryKindOfFileIsKnownByWhatIsInIt) {
  const TestFolder folder;
  const std::string table =
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n"
      "  1048576 262144 float sum -1 28 37 65 0 28 37 65 0\n"
      "  2097152 524288 float sum -1 90 23 40 0 90 23 40 0\n"
      "  4194304 1048576 float sum -1 60 70 122 0 60 70 122 2\n";
  const Output o =
      runAutoccl({"doctor", "--limit", "400", "--message", "64K", written(folder / "table", table),
                  written(folder / "topology", topo::fixtures::kSkeleton),
                  written(folder / "lspci", "3a:00.0 PCI bridge: x\n\tACSCtl: ReqRedir+\n"),
                  written(folder / "conf", "HCCL_ALGO_THRESHOLD=16\nNCCL_NET_GDR_LEVEL=5\n"),
                  written(folder / "log",
                          "h:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL "
                          "channel{Lo..Hi}={0..0}\n")});
  EXPECT_EQ(o.status, kFindings) << o.err;
  for (const char* part : {"output of nccl-tests, 3 sizes", "wrong results at 4M",
                           "30 % of the path's 400", "topology: 2 x GPU, 1 NIC", "has no arch",
                           "bridge 3a:00.0 redirects", "there is no threshold of ranks or bytes",
                           "an old number that means SYS: GPUDirect RDMA even between sockets",
                           "AllReduce of 8 bytes: Ring/LL, 1 channels, 1 times"})
    EXPECT_TRUE(contains(o.out, part)) << part << " is not in " << o.out;
}

TEST(Doctor, TwoTablesTellWhyMoreRanksAreSlower) {
  const TestFolder folder;
  const auto table = [](int ranks, int hosts, const char* row) {
    std::string text = "$ all_reduce_perf\n";
    for (int r = 0; r < ranks; ++r)
      text += "#  Rank " + std::to_string(r) + " Group 0 Pid 1 on h" +
              std::to_string(r * hosts / ranks) + " device 0 [0x01] NVIDIA H100\n";
    return text +
           "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  "
           "#wrong\n" +
           row;
  };
  const Output o = runAutoccl(
      {"doctor",
       written(folder / "a",
               table(8, 1, " 134217728 1 float sum -1 1000 134 235 0 1000 134 235 0\n")),
       written(folder / "b",
               table(32, 4, " 134217728 1 float sum -1 8000 16.8 32.5 0 8000 16.8 32.5 0\n"))});
  EXPECT_EQ(o.status, kFindings) << o.err;
  EXPECT_TRUE(contains(o.out, "128M takes 8.00 ms on 32 ranks, 1.00 ms on 8")) << o.out;
}

TEST(Doctor, SarifIsForMachines) {
  const TestFolder folder;
  const Output o =
      runAutoccl({"doctor", "--sarif", "-", written(folder / "conf", "NCCL_ALGO=rings\n")});
  EXPECT_EQ(o.status, kFindings);
  EXPECT_TRUE(contains(o.out, "\"ruleId\": \"nccl-setting\"")) << o.out;
}

TEST(Doctor, AProcessThatIsNotThereIsAUsageError) {
  const Output o = runAutoccl({"doctor", "--pid", "4194303"});
  EXPECT_EQ(o.status, kUsage);
  EXPECT_TRUE(contains(o.err, "there is no process 4194303")) << o.err;
}

TEST(Doctor, ALogOfAHundredThousandLinesIsRead) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += "node" + std::to_string(i % 64) + ":1234:5678 [" + std::to_string(i % 8) +
            "] NCCL INFO AllReduce: " + std::to_string(1 << (i % 20)) +
            " Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}\n";
  const Output o = runAutoccl({"doctor", written(folder / "log", text)});
  EXPECT_TRUE(contains(o.out, "100000 of 100000 lines are NCCL's")) << o.out.substr(0, 300);
  EXPECT_TRUE(contains(o.out, "AllReduce of 524288 bytes: Ring/Simple, 16 channels, 5000 times"));
}

TEST(Doctor, ABadVersionIsAUsageError) {
  const Output o = runAutoccl({"doctor", "--nccl-version", "newest"});
  EXPECT_EQ(o.status, kUsage);
  EXPECT_TRUE(contains(o.err, "write it as 2.28.9")) << o.err;
}

}  // namespace
}  // namespace autoccl::cli
