// Seeded random numbers that are the same with every standard library.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace autoccl {

/// SplitMix64. Deterministic; thread-compatible.
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}
  uint64_t next() noexcept {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// Below n (n > 0); the bias is under 2^-32 for the small n of a search.
  size_t below(size_t n) noexcept { return static_cast<size_t>(next() % n); }
  /// In [0, 1).
  double unit() noexcept { return double(next() >> 11) * 0x1p-53; }
  /// Standard normal. Box and Muller's method gives two at a time.
  double normal() noexcept {
    if (hasSpare_) {
      hasSpare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(1 - unit())),
                 angle = 2 * std::numbers::pi * unit();
    spare_ = radius * std::sin(angle);
    hasSpare_ = true;
    return radius * std::cos(angle);
  }

 private:
  uint64_t state_;
  double spare_ = 0;
  bool hasSpare_ = false;
};

}  // namespace autoccl
