// The small floats against their definition, in doubles.
#include "direct/kernels/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace autoccl::direct {
namespace {

/// The value of a code without sign, by the definition of such formats.
double definedValue(int exponentBits, int mantissaBits, uint32_t code) {
  const auto exponent = static_cast<int>(code >> mantissaBits);
  const double fraction = std::ldexp(code & ((1u << mantissaBits) - 1), -mantissaBits);
  const int bias = (1 << (exponentBits - 1)) - 1;
  return std::ldexp(fraction + (exponent > 0 ? 1 : 0), std::max(exponent, 1) - bias);
}

template <class Number>
void expectDefined(int exponentBits, int mantissaBits, uint32_t largest) {
  using Stored = typename Number::Stored;
  const uint32_t sign = 1u << (exponentBits + mantissaBits);
  for (uint32_t code = 0; code <= largest; ++code) {
    const double value = definedValue(exponentBits, mantissaBits, code);
    ASSERT_EQ(Number::load(static_cast<Stored>(code)), value) << code;
    ASSERT_EQ(Number::load(static_cast<Stored>(code | sign)), -value) << code;
    ASSERT_EQ(Number::store(static_cast<float>(value)), code);
    if (code == largest) break;
    const double next = definedValue(exponentBits, mantissaBits, code + 1);
    const auto middle = static_cast<float>((value + next) / 2);
    ASSERT_EQ(Number::store(middle), code + code % 2) << "ties to the even code";
    ASSERT_EQ(Number::store(std::nextafter(middle, 0.0f)), code);
    ASSERT_EQ(Number::store(std::nextafter(middle, std::numeric_limits<float>::infinity())),
              code + 1);
  }
  EXPECT_TRUE(std::isnan(Number::load(Number::store(std::nanf("")))));
}

TEST(Numbers, Float16IsLoadedAndRoundedAsDefined) {
  expectDefined<Float16>(5, 10, 0x7bff);
  EXPECT_EQ(Float16::store(1e6f), 0x7c00) << "too large: infinity";
  EXPECT_TRUE(std::isinf(Float16::load(0xfc00)));
}

TEST(Numbers, Bfloat16IsLoadedAndRoundedAsDefined) {
  expectDefined<Bfloat16>(8, 7, 0x7f7f);
  EXPECT_EQ(Bfloat16::store(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Numbers, Float8SaturatesAtItsLargestValue) {
  expectDefined<Float8e4m3>(4, 3, 0x7e);
  expectDefined<Float8e5m2>(5, 2, 0x7b);
  EXPECT_EQ(Float8e4m3::load(Float8e4m3::store(1e6f)), 448);
  EXPECT_EQ(Float8e5m2::load(Float8e5m2::store(-1e9f)), -57344);
  EXPECT_TRUE(std::isinf(Float8e5m2::load(0x7c)));
}

TEST(Numbers, WholeNumbersWrap) {
  EXPECT_EQ((combine<ReduceOp::kSum>(int8_t{127}, int8_t{1})), -128);
  EXPECT_EQ((combine<ReduceOp::kProd>(INT32_MAX, 2)), -2);
  EXPECT_EQ((combine<ReduceOp::kSum>(UINT64_MAX, uint64_t{2})), 1u);
}

TEST(Numbers, NanLosesAgainstANumber) {
  const float nan = std::nanf("");
  EXPECT_EQ((combine<ReduceOp::kMax>(nan, 1.0f)), 1.0f);
  EXPECT_EQ((combine<ReduceOp::kMin>(1.0f, nan)), 1.0f);
}

TEST(Numbers, AnAverageIsDividedOnce) {
  EXPECT_EQ(finished(ReduceOp::kAvg, int32_t{-7}, 2), -3);
  EXPECT_EQ(finished(ReduceOp::kAvg, 7.0f, 2), 3.5f);
  EXPECT_EQ(finished(ReduceOp::kSum, 7.0f, 2), 7.0f);
}

}  // namespace
}  // namespace autoccl::direct
