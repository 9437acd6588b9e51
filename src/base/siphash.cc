#include "base/siphash.h"

#include <bit>
#include <cstring>

namespace autoccl {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as little-endian");

struct State {
  uint64_t v0, v1, v2, v3;

  void rounds(int n) noexcept {
    for (int i = 0; i < n; ++i) {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  }
  void absorb(uint64_t word) noexcept {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  [[nodiscard]] uint64_t fold() const noexcept { return v0 ^ v1 ^ v2 ^ v3; }
};

uint64_t wordAt(const uint8_t* bytes) noexcept {
  uint64_t word = 0;
  std::memcpy(&word, bytes, 8);
  return word;
}

}  // namespace

MacTag sipHash128(const MacKey& key, std::span<const uint8_t> bytes) noexcept {
  const uint64_t k0 = wordAt(key.data());
  const uint64_t k1 = wordAt(key.data() + 8);
  State s{k0 ^ 0x736f6d6570736575ULL, k1 ^ 0x646f72616e646f6dULL ^ 0xee, k0 ^ 0x6c7967656e657261ULL,
          k1 ^ 0x7465646279746573ULL};
  const size_t whole = bytes.size() / 8 * 8;
  for (size_t i = 0; i < whole; i += 8) s.absorb(wordAt(bytes.data() + i));
  uint64_t last = uint64_t{bytes.size()} << 56;
  for (size_t i = whole; i < bytes.size(); ++i) last |= uint64_t{bytes[i]} << (8 * (i - whole));
  s.absorb(last);

  MacTag tag{};
  s.v2 ^= 0xee;
  s.rounds(4);
  const uint64_t low = s.fold();
  s.v1 ^= 0xdd;
  s.rounds(4);
  const uint64_t high = s.fold();
  std::memcpy(tag.data(), &low, 8);
  std::memcpy(tag.data() + 8, &high, 8);
  return tag;
}

bool sameTag(const MacTag& a, const MacTag& b) noexcept {
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace autoccl
