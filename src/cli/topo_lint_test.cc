#include <gtest/gtest.h>

#include <fstream>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/testing/command.h"
#include "store/json.h"
#include "topo/nccl_check.h"
#include "topo/testing/fixtures.h"

namespace autoccl::cli {
namespace {

namespace fixtures = topo::fixtures;

std::string written(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(TopoLintCommand, ASoundFileIsDoneAndFindingsAreThree) {
  const TestFolder folder;
  EXPECT_EQ(runAutoccl({"topo", "lint", written(folder / "a", fixtures::kDump)}).status, kDone);
  const Output o = runAutoccl({"topo", "lint", written(folder / "b", fixtures::kSkeleton)});
  EXPECT_EQ(o.status, kFindings) << o.err;
  EXPECT_TRUE(contains(o.out, "b:11\n  found       NUMA node 1 has no arch")) << o.out;
}

TEST(TopoLintCommand, AFileThatCannotBeReadIsNamedAndTheOthersAreRead) {
  const TestFolder folder;
  const Output o = runAutoccl({"topo", "lint", folder / "none", written(folder / "e", "\n"),
                               written(folder / "b", fixtures::kSkeleton)});
  EXPECT_EQ(o.status, kUsage);
  EXPECT_TRUE(contains(o.err, "e: is empty")) << o.err;
  EXPECT_TRUE(contains(o.out, "has no arch")) << o.out;
}

TEST(TopoLintCommand, SarifNamesRuleFileAndLine) {
  const TestFolder folder;
  const std::string file = written(folder / "b.xml", fixtures::kSkeleton);
  const Output o = runAutoccl({"topo", "lint", "--sarif", "-", file});
  ASSERT_EQ(o.status, kFindings) << o.err;
  const Json log = parseJson(o.out, "sarif");
  EXPECT_EQ(log.find("version")->text(), "2.1.0");
  const Json& result = log.find("runs")->items().at(0).find("results")->items().at(0);
  EXPECT_EQ(result.find("ruleId")->text(), "topo-nccl-reader");
  const Json& place = *result.find("locations")->items().at(0).find("physicalLocation");
  EXPECT_EQ(place.find("artifactLocation")->find("uri")->text(), file);
  EXPECT_EQ(place.find("region")->find("startLine")->unsignedValue(), 11U);
}

TEST(TopoLintCommand, AGpuThatIsNotThereIsAUsageError) {
  const TestFolder folder;
  const Output o =
      runAutoccl({"topo", "lint", "--gpus", "0,9", written(folder / "a", fixtures::kDump)});
  EXPECT_EQ(o.status, kUsage);
  EXPECT_TRUE(contains(o.err, "--gpus: there is no GPU 9; there are 4")) << o.err;
}

TEST(TopoExportCommand, WhatItWritesIsTakenByNcclsReader) {
  const TestFolder folder;
  const Output o = runAutoccl({"topo", "export", written(folder / "b", fixtures::kSkeleton)});
  ASSERT_EQ(o.status, kDone) << o.err;
  EXPECT_TRUE(topo::ncclRefusals(o.out, "f").empty()) << o.out;
  EXPECT_TRUE(contains(o.err, "as another socket of the file")) << o.err;
}

TEST(TopoExportCommand, AMatrixHasNoBusIdsAndIsRefused) {
  const TestFolder folder;
  const std::string file = written(folder / "m", fixtures::kMatrix);
  const Output o = runAutoccl({"topo", "export", file});
  EXPECT_EQ(o.status, kUsage);
  EXPECT_TRUE(contains(o.err, "names no bus ids")) << o.err;
  const Output summary = runAutoccl({"topo", "export", "--format", "summary", file});
  EXPECT_TRUE(contains(summary.out, " 2 x GPU, 2 NICs, 1 NUMA node\n")) << summary.out;
}

TEST(TopoExportCommand, AnUnknownFormatAndVersionAreUsageErrors) {
  const TestFolder folder;
  const std::string file = written(folder / "a", fixtures::kDump);
  EXPECT_TRUE(contains(runAutoccl({"topo", "export", "--format", "x", file}).err,
                       "known are nccl, rccl, nccl-env, summary"));
  EXPECT_EQ(
      runAutoccl({"topo", "export", "--format", "nccl-env", "--nccl-version", "new", file}).status,
      kUsage);
}

}  // namespace
}  // namespace autoccl::cli
