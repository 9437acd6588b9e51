#include "base/siphash.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace autoccl {
namespace {

// The authors' published vectors (key 00..0f, input 00..n-1) for n = 0, 1 and 15.
TEST(SipHash, GivesThePublishedTags) {
  MacKey key{};
  std::iota(key.begin(), key.end(), uint8_t{0});
  const MacTag empty{0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
                     0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93};
  const MacTag one{0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44,
                   0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45};
  EXPECT_EQ(sipHash128(key, {}), empty);
  const std::vector<uint8_t> input{0};
  EXPECT_EQ(sipHash128(key, input), one);
  const MacTag fifteen{0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11,
                       0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf, 0xc3, 0xd9};
  EXPECT_EQ(sipHash128(key, std::span(key).first(15)), fifteen);
}

TEST(SipHash, DependsOnEveryBitOfInputAndKey) {
  MacKey key{};
  std::vector<uint8_t> input(23, 7);
  const MacTag base = sipHash128(key, input);
  for (size_t bit = 0; bit < input.size() * 8; ++bit) {
    input[bit / 8] ^= uint8_t(1u << (bit % 8));
    EXPECT_FALSE(sameTag(sipHash128(key, input), base)) << "input bit " << bit;
    input[bit / 8] ^= uint8_t(1u << (bit % 8));
  }
  for (size_t bit = 0; bit < 128; ++bit) {
    key[bit / 8] ^= uint8_t(1u << (bit % 8));
    EXPECT_FALSE(sameTag(sipHash128(key, input), base)) << "key bit " << bit;
    key[bit / 8] ^= uint8_t(1u << (bit % 8));
  }
}

}  // namespace
}  // namespace autoccl
