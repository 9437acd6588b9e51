#include "edge/nccl/versions.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace autoccl::nccl {
namespace {

TEST(Versions, EveryReleaseFindsItsRow) {
  EXPECT_EQ(versionRow(21700), nullptr);
  EXPECT_EQ(versionRow(22809)->tuner, 5);
  EXPECT_EQ(versionRow(22809)->chunk, Lever::kVariant);
  EXPECT_EQ(versionRow(23003)->chunk, Lever::kCall);
  EXPECT_EQ(versionRow(22005)->channels, Lever::kVariant);
  EXPECT_TRUE(versionRow(29900)->assumed);
}

TEST(Versions, TheDocumentShowsThisTable) {
  std::ifstream file(AUTOCCL_SOURCE_DIR "/docs/nccl.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const size_t begin = page.find('\n', page.find("<!-- versions: begin")) + 1;
  const size_t end = page.find("<!-- versions: end -->");
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(page.substr(begin, end - begin), versionsMarkdown());
}

}  // namespace
}  // namespace autoccl::nccl
