#include "model/task.h"

#include <array>
#include <charconv>
#include <cmath>

#include "model/config.h"

namespace autoccl {
namespace {

// SplitMix64's finaliser: a bijection that spreads every input bit. Steele, Lea, Flood, OOPSLA
// 2014.
uint64_t mix(uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t keyOf(const Task& t) noexcept {
  const uint64_t small = uint64_t(t.collective) | uint64_t(t.dtype) << 8 | uint64_t(t.op) << 16 |
                         uint64_t(static_cast<uint32_t>(t.nRanks)) << 32;
  uint64_t key = mix(mix(mix(t.communicator) ^ small) ^ t.bytes);
  if (t.variant != 0) key = mix(key ^ t.variant);
  return key ? key : 1;
}

std::string toText(const Task& t) {
  std::string text(toText(t.collective));
  text += " " + bytesText(t.bytes);
  if (t.dtype != kAnyDataType) text.append(" ").append(toText(t.dtype));
  if (reduces(t.collective) && t.op != kAnyReduceOp) text.append(" ").append(toText(t.op));
  text += " x" + std::to_string(t.nRanks);
  if (t.variant == 0) return text;
  std::array<char, 16> hex{};
  const auto end = std::to_chars(hex.data(), hex.data() + hex.size(), t.variant, 16).ptr;
  return text + " #" + std::string(hex.data(), end);
}

uint64_t sizeClass(uint64_t nBytes) noexcept {
  if (nBytes < 256) return nBytes;
  const int octave = 63 - __builtin_clzll(nBytes);
  constexpr double kQuarter[4] = {1.0, 1.189207115002721, 1.4142135623730951, 1.681792830507429};
  uint64_t best = uint64_t{1} << octave;
  for (const double q : kQuarter) {
    const auto lower = static_cast<uint64_t>(std::ldexp(q, octave)) & ~uint64_t{15};
    if (lower <= nBytes && lower > best) best = lower;
  }
  return best;
}

}  // namespace autoccl
