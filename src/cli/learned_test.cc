// The commands over files of what was learned: report, explain, profile.
#include <gtest/gtest.h>

#include "cli/output.h"
#include "cli/profile_checks.h"
#include "cli/testing/command.h"
#include "store/file.h"
#include "store/json.h"
#include "store/profile.h"
#include "store/testing/sample_record.h"

namespace autoccl::cli {
namespace {

Profile sampleProfile() {
  Profile profile{sampleRecord().machine, sampleRecord().machineText, {}};
  (void)learn(profile, sampleRecord());
  return profile;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// A folder with a record, a profile and a broken file.
struct Files {
  TestFolder folder;
  std::string record = folder / "record.json", profile = folder / "profile.json",
              broken = folder / "broken.json";
  Files() {
    replaceFile(record, writeRunRecord(sampleRecord()), Durable::kNo);
    saveProfile(sampleProfile(), profile);
    replaceFile(broken, writeProfile(sampleProfile()).substr(0, 300), Durable::kNo);
  }
};

TEST(ReportCommand, WritesThePageAndItsFigures) {
  const Files files;
  const std::string page = files.folder / "r.html";
  const Output out = runAutoccl({"report", files.record, "-o", page, "--json", "-"});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_TRUE(has(readInput(page), "<!doctype html>"));
  const Json root = parseJson(out.out, "stdout");
  EXPECT_EQ(root.find("tasks")->items().size(), 3u);
  EXPECT_EQ(root.find("fits")->items().size(), 2u);
  EXPECT_EQ(root.find("findings")->items().size(), 1u);
}

TEST(ExplainCommand, TellsTheTasksThatWereAskedFor) {
  const Files files;
  const Output one = runAutoccl({"explain", files.record, "allreduce", "1M", "--history"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_TRUE(has(one.out, "allreduce 1M float32 sum x2 (communicator comm0)"));
  EXPECT_FALSE(has(one.out, "allreduce 8M"));
  EXPECT_TRUE(has(one.out, "median us"));
  EXPECT_TRUE(has(runAutoccl({"explain", files.profile}).out, "allreduce 8M float32 sum x2\n"));
  const Output json = runAutoccl({"explain", files.record, "--json", "-"});
  EXPECT_EQ(parseJson(json.out, "stdout").find("tasks")->items().size(), 3u);
}

TEST(ExplainCommand, WithoutAFileItReadsTheProfileOfThisMachine) {
  const Files files;
  const Output out = runAutoccl({"explain", "1M"}, {{"AUTOCCL_PROFILE", files.profile}});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_TRUE(has(out.out, "allreduce 1M"));
}

TEST(ProfileCommand, ShowsLintsAndCompares) {
  const Files files;
  EXPECT_TRUE(has(runAutoccl({"profile", "show", files.profile}).out, "1.45x (1.41-1.49)"));
  const Output lint = runAutoccl({"profile", "lint", files.profile});
  EXPECT_EQ(lint.status, 3);
  EXPECT_TRUE(has(lint.out, "learned on another machine"));
  EXPECT_EQ(runAutoccl({"profile", "diff", files.profile, files.profile}).status, 0);
  Profile other = sampleProfile();
  other.entries[0].config.channels = 7;
  const std::string path = files.folder / "other.json";
  saveProfile(other, path);
  const Output diff = runAutoccl({"profile", "diff", files.profile, path, "--json", "-"});
  EXPECT_EQ(diff.status, 3);
  EXPECT_EQ(parseJson(diff.out, "stdout").find("findings")->items().size(), 1u);
}

TEST(LearnedCommands, BadInputIsNamedWithFileAndLine) {
  const Files files;
  for (const auto& [words, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"report", files.folder / "none.json"}, "none.json: there is no such file"},
           {{"report", files.profile}, "is a profile, not a run record"},
           {{"report"}, "RECORD"},
           {{"explain", files.broken}, "broken.json:"},
           {{"explain", files.record, "allgather"}, "TASK: nothing in"},
           {{"explain", files.profile, "--history"}, "--history"},
           {{"profile", "lint", files.broken}, "broken.json:"},
           {{"profile", "show", files.record}, "is a run record, not a profile"},
           {{"profile", "dif"}, "see autoccl profile --help"},
           {{"profile"}, "see autoccl profile --help"}}) {
    const Output out = runAutoccl(words);
    EXPECT_EQ(out.status, 2) << out.err;
    EXPECT_TRUE(has(out.err, part)) << part << " not in: " << out.err;
  }
}

TEST(ProfileChecks, ASoundProfileHasNoFindingsAndEachFaultIsNamed) {
  const auto found = [](void (*spoil)(Profile&)) {
    Profile p = sampleProfile();
    spoil(p);
    return profileFindings(p, sampleRecord().machine, sampleRecord().library);
  };
  EXPECT_TRUE(found([](Profile&) {}).empty());
  for (const auto& [spoil, part] : std::vector<std::pair<void (*)(Profile&), const char*>>{
           {[](Profile& p) { p.machine = "x"; }, "another machine"},
           {[](Profile& p) { p.entries[0].library = "autoccl 0.0.9"; },
            "allreduce 64K float32 sum x2: learned with"},
           {[](Profile& p) { p.entries[0].samples = 3; }, "rests on 3 samples"},
           {[](Profile& p) { p.entries[0].tunedUs = 0; }, "has no times"},
           {[](Profile& p) { p.entries[0].tunedUs *= 2; }, "but the gain says"},
           {[](Profile& p) { p.entries[0].gainLow = 0.9; }, "may be slower"}}) {
    const auto all = found(spoil);
    ASSERT_EQ(all.size(), 1u) << part;
    EXPECT_TRUE(has(all[0], part)) << all[0];
  }
}

TEST(ProfileChecks, DifferencesWithinTheSpreadAreNone) {
  Profile after = sampleProfile();
  after.entries[0].tunedUs *= 1.02;
  EXPECT_TRUE(profileDifferences(sampleProfile(), after).empty());
  after.entries[0].tunedUs *= 1.2;
  after.entries.pop_back();
  EXPECT_EQ(profileDifferences(sampleProfile(), after).size(), 2u);
  EXPECT_EQ(profileDifferences(after, sampleProfile()).size(), 2u);
}

}  // namespace
}  // namespace autoccl::cli
