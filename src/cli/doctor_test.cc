#include <gtest/gtest.h>

#include <fstream>

#include "cli/commands.h"
#include "cli/testing/command.h"

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

TEST(Doctor, ABadVersionIsAUsageError) {
  const Output o = runAutoccl({"doctor", "--nccl-version", "newest"});
  EXPECT_EQ(o.status, kUsage);
  EXPECT_TRUE(contains(o.err, "write it as 2.28.9")) << o.err;
}

}  // namespace
}  // namespace autoccl::cli
