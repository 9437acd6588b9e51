#include "engine/result_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace autoccl {
namespace {

TEST(SameValues, FloatsMayDifferByRoundingOfAnotherOrderOnly) {
  const std::vector<float> a{1.0f, -2.0f, 1000.0f};
  std::vector<float> b = a;
  b[0] = std::nextafter(b[0], 2.0f);
  EXPECT_TRUE(sameValues(a.data(), b.data(), 12, DataType::kFloat32, 2));
  b[1] = -2.5f;
  EXPECT_FALSE(sameValues(a.data(), b.data(), 12, DataType::kFloat32, 2));
  EXPECT_FALSE(sameValues(a.data(), b.data(), 12, DataType::kInt32, 2));
}

TEST(SameValues, NanEqualsNanAndInfinityOnlyItself) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const std::vector<float> a{nan, inf}, b{-nan, inf}, c{1.0f, inf}, d{nan, 1.0f};
  EXPECT_TRUE(sameValues(a.data(), b.data(), 8, DataType::kFloat32, 4));
  EXPECT_FALSE(sameValues(a.data(), c.data(), 8, DataType::kFloat32, 4));
  EXPECT_FALSE(sameValues(a.data(), d.data(), 8, DataType::kFloat32, 4));
}

TEST(SameValues, SmallFormatsAreDecodedAsTheyAreDefined) {
  const uint16_t oneHalf[] = {0x3c00, 0x4000},
                 oneHalfOff[] = {0x3c00, 0x4400};  // 1, 2 against 1, 4
  EXPECT_FALSE(sameValues(oneHalf, oneHalfOff, 4, DataType::kFloat16, 2));
  const uint16_t bf[] = {0x3f80}, bfNext[] = {0x3f81};
  EXPECT_TRUE(sameValues(bf, bfNext, 2, DataType::kBfloat16, 2));
  const uint8_t e4[] = {0x7e, 0x38}, e4off[] = {0x7e, 0xfe};  // 448, 1 against 448, -448
  EXPECT_FALSE(sameValues(e4, e4off, 2, DataType::kFloat8e4m3, 1));
}

TEST(ResultCheck, PutsAnInputInPlaceBackBeforeTheSecondRun) {
  std::vector<int32_t> buffer{1, 2, 3, 4};
  Call call;
  call.collective = Collective::kAllReduce;
  call.dtype = DataType::kInt32;
  call.send = call.recv = buffer.data();
  call.count = 4;
  ResultCheck check;
  check.keepInput(call, 0, 2);
  buffer = {10, 20, 30, 40};
  check.keepResult(call);
  EXPECT_EQ(buffer, (std::vector<int32_t>{1, 2, 3, 4}));
  buffer = {10, 20, 30, 41};
  EXPECT_FALSE(check.agrees(call, 2));
  buffer = {10, 20, 30, 40};
  EXPECT_TRUE(check.agrees(call, 2));
  EXPECT_TRUE(check.firstTime(1, Config{}));
  EXPECT_FALSE(check.firstTime(1, Config{}));
  EXPECT_TRUE(check.firstTime(2, Config{}));
}

}  // namespace
}  // namespace autoccl
