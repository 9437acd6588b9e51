#include <gtest/gtest.h>

#include <fstream>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/testing/command.h"

namespace autoccl::cli {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(ProfileExchange, RulesGoInAsChoicesToTryAndNothingUnprovenComesOut) {
  const TestFolder folder;
  const std::string rules = folder / "rules.csv", profile = folder / "profile.json";
  std::ofstream(rules) << "allreduce,1024,4096,ring,ll,4,-1,8\n";
  const Output in = runAutoccl({"profile", "import", rules, "--output", profile});
  EXPECT_EQ(in.status, kDone) << in.err;
  EXPECT_TRUE(contains(in.out, "1 rules gave 3 choices")) << in.out;
  const Output again = runAutoccl({"profile", "import", rules, "--output", profile});
  EXPECT_TRUE(contains(again.out, "gave 0 choices")) << again.out;
  const Output show = runAutoccl({"profile", "show", profile});
  EXPECT_TRUE(contains(show.out, "ring/ll/auto nc=4")) << show.out;
  const Output out = runAutoccl({"profile", "export", profile});
  EXPECT_EQ(out.status, kDone) << out.err;
  EXPECT_TRUE(out.out.starts_with("# collective,")) << out.out;
  EXPECT_FALSE(contains(out.out, "\nallreduce"));
  EXPECT_TRUE(contains(out.err, "cannot be told from noise")) << out.err;
}

TEST(ProfileExchange, UnknownFormatsAndBrokenRulesAreNamed) {
  const TestFolder folder;
  const std::string rules = folder / "rules.csv", profile = folder / "profile.json";
  std::ofstream(rules) << "allreduce,1K,4096,ring,ll,4,-1,8\n";
  const Output in = runAutoccl({"profile", "import", rules, "--output", profile});
  EXPECT_EQ(in.status, kUsage);
  EXPECT_TRUE(contains(in.err, "rules.csv:1: min_bytes")) << in.err;
  const Output out = runAutoccl({"profile", "export", profile, "--format", "xml"});
  EXPECT_EQ(out.status, kUsage);
  EXPECT_TRUE(contains(out.err, "known are nccl-rules, nccl-env, nccl-call")) << out.err;
}

}  // namespace
}  // namespace autoccl::cli
