#include "base/size_text.h"

#include <gtest/gtest.h>

namespace autoccl {
namespace {

TEST(SizeText, IsReadInBytesOrPowersOf1024) {
  EXPECT_EQ(readSize("0"), 0u);
  EXPECT_EQ(readSize("17"), 17u);
  EXPECT_EQ(readSize("17B"), 17u);
  for (const char* text : {"64K", "64k", "64KiB", "65536"}) EXPECT_EQ(readSize(text), 65536u);
  EXPECT_EQ(readSize("1M"), 1u << 20);
  EXPECT_EQ(readSize("3GiB"), 3ull << 30);
  EXPECT_EQ(readSize("17179869183G"), 17179869183ull << 30);
}

TEST(SizeText, AnythingElseIsNone) {
  for (const char* text : {"", "K", "-1", "+1", " 1", "1 ", "1 K", "1.5M", "1T", "64KB", "64iB",
                           "1KK", "0x10", "17179869184G", "18446744073709551616"})
    EXPECT_EQ(readSize(text), std::nullopt) << text;
}

}  // namespace
}  // namespace autoccl
