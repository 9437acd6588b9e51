#include "report/text_table.h"

#include <gtest/gtest.h>

namespace autoccl {
namespace {

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table({{"task"}, {"us", true}, {"config"}});
  table.row({"a", "7", "x"});
  table.row({"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", "123", ""});
  EXPECT_EQ(table.text(),
            "task    us  config\n"
            "a        7  x\n"
            "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4  123\n");
}

TEST(TextTable, TheLastColumnIsWrappedAtBlanks) {
  TextTable table({{"name"}, {"effect"}});
  table.row({"one", "words that go on and on until the line is full"});
  EXPECT_EQ(table.text(32),
            "name  effect\n"
            "one   words that go on and on\n"
            "      until the line is full\n");
}

TEST(TextTable, MarkdownEscapesBars) {
  TextTable table({{"a"}, {"b", true}});
  table.row({"0|1", "2"});
  EXPECT_EQ(table.markdown(), "| a | b |\n|---|---:|\n| 0\\|1 | 2 |\n");
}

TEST(Figure, KeepsThreeDigitsAndNeverLosesWholeOnes) {
  EXPECT_EQ(figure(12345.6), "12346");
  EXPECT_EQ(figure(99.96), "100");
  EXPECT_EQ(figure(12.34), "12.3");
  EXPECT_EQ(figure(1.234), "1.23");
  EXPECT_EQ(figure(0.1234), "0.123");
  EXPECT_EQ(figure(-12.34), "-12.3");
  EXPECT_EQ(figure(0), "-");
}

}  // namespace
}  // namespace autoccl
