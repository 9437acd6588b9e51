// Element types of the GPU kernels: how each is loaded, combined in rank order and stored again.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "direct/kernels/both_sides.h"
#include "model/types.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace autoccl::direct {

template <class To, class From>
ACCL_BOTH To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

/// A float of kExp exponent and kMan mantissa bits. kInfinite: the top exponent means infinity and
/// NaN (else only the last code is NaN). kLimit: the code that too large values become. Rounds to
/// nearest even; combined in float32. Results equal the CPU engine's, NaN's payload aside.
template <int kExp, int kMan, bool kInfinite, uint32_t kLimit, uint32_t kNan>
struct SmallFloat {
  using Stored = std::conditional_t<(kExp + kMan < 8), uint8_t, uint16_t>;
  using Value = float;
  static constexpr int kShift = 23 - kMan;
  static constexpr uint32_t kBias = (1u << (kExp - 1)) - 1;
  static constexpr uint32_t kSign = 1u << (kExp + kMan);
  static constexpr uint32_t kRebias = (127 - kBias) << 23;

  static ACCL_BOTH float load(Stored stored) {
    const uint32_t sign = (stored & kSign) << (31 - kExp - kMan);
    const uint32_t code = stored & (kSign - 1);
    const uint32_t exponent = code >> kMan;
    if (kInfinite && exponent == (1u << kExp) - 1)
      return bitsAs<float>(sign | 0x7f800000u | (code << kShift));
    if (!kInfinite && code == kSign - 1) return bitsAs<float>(sign | 0x7fc00000u);
    if (exponent != 0) return bitsAs<float>(sign | ((code << kShift) + kRebias));
    // Subnormal: the code counts steps of 2^(1 - bias - kMan), a normal float32.
    const float step = bitsAs<float>((127 + 1 - kBias - kMan) << 23);
    return bitsAs<float>(bitsAs<uint32_t>(static_cast<float>(code) * step) | sign);
  }

  static ACCL_BOTH Stored store(float value) {
    const uint32_t bits = bitsAs<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t sign = (bits >> (31 - kExp - kMan)) & kSign;
    if (magnitude > 0x7f800000u) return static_cast<Stored>(sign | kNan);
    const uint32_t odd = (magnitude >> kShift) & 1u;
    uint32_t code = (magnitude - kRebias + ((1u << (kShift - 1)) - 1) + odd) >> kShift;
    if (magnitude < kRebias + (1u << 23)) {
      // A float whose last bit is worth the smallest subnormal lets the adder do the rounding.
      constexpr uint32_t kMagic = (127 - kBias + kShift + 1) << 23;
      code = bitsAs<uint32_t>(bitsAs<float>(magnitude) + bitsAs<float>(kMagic)) - kMagic;
    }
    return static_cast<Stored>(sign | (code > kLimit ? kLimit : code));
  }
};
using Float8e4m3 = SmallFloat<4, 3, false, 0x7e, 0x7f>;
using Float8e5m2 = SmallFloat<5, 2, true, 0x7b, 0x7f>;

struct Float16 : SmallFloat<5, 10, true, 0x7c00, 0x7e00> {
#if defined(__CUDA_ARCH__)
  static __device__ __forceinline__ float load(Stored s) {
    return __half2float(__ushort_as_half(s));
  }
  static __device__ __forceinline__ Stored store(float v) {
    return __half_as_ushort(__float2half_rn(v));
  }
#endif
};

struct Bfloat16 {
  using Stored = uint16_t;
  using Value = float;
  static ACCL_BOTH float load(Stored stored) {
    return bitsAs<float>(static_cast<uint32_t>(stored) << 16);
  }
  static ACCL_BOTH Stored store(float value) {
#if defined(__CUDA_ARCH__)
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
    const uint32_t bits = bitsAs<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<Stored>((bits >> 16) | 0x40u);
    return static_cast<Stored>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
  }
};

/// Integers, float32 and float64 are combined as they are.
template <class T>
struct Plain {
  using Stored = T;
  using Value = T;
  static ACCL_BOTH T load(T stored) { return stored; }
  static ACCL_BOTH T store(T value) { return value; }
};

/// Elements that are only moved.
template <class T>
struct Moved : Plain<T> {};
template <class Number>
inline constexpr bool kMovedOnly = false;
template <class T>
inline constexpr bool kMovedOnly<Moved<T>> = true;

/// Sums and products of integers wrap.
template <class T>
struct Wrapping {
  using type = T;
};
template <class T>
requires std::is_integral_v<T>
struct Wrapping<T> {
  using type = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
};

/// NaN loses against a number in max and min, as in CUDA's fmax.
template <ReduceOp kOp, class V>
ACCL_BOTH V combine(V a, V b) {
  using W = typename Wrapping<V>::type;
  if constexpr (kOp == ReduceOp::kProd)
    return static_cast<V>(static_cast<W>(a) * static_cast<W>(b));
  else if constexpr (kOp == ReduceOp::kMax)
    return b > a || a != a ? b : a;  // NOLINT(misc-redundant-expression)
  else if constexpr (kOp == ReduceOp::kMin)
    return b < a || a != a ? b : a;  // NOLINT(misc-redundant-expression)
  else
    return static_cast<V>(static_cast<W>(a) + static_cast<W>(b));
}

/// What is left to do once all ranks' values are combined.
template <class V>
ACCL_BOTH V finished(ReduceOp op, V value, uint32_t nRanks) {
  return op == ReduceOp::kAvg ? static_cast<V>(value / static_cast<V>(nRanks)) : value;
}

/// A rank's own value before it is combined or sent: scaled for scaledsum, and rounded to the type
/// so that it is the same value wherever it is combined.
template <class Number>
ACCL_BOTH typename Number::Stored scaled(ReduceOp op, typename Number::Stored stored,
                                         double scale) {
  if (op != ReduceOp::kScaledSum) return stored;
  using V = typename Number::Value;
  if constexpr (std::is_floating_point_v<V>)
    return Number::store(Number::load(stored) * static_cast<V>(scale));
  else
    return static_cast<V>(static_cast<typename Wrapping<V>::type>(stored) *
                          static_cast<typename Wrapping<V>::type>(static_cast<int64_t>(scale)));
}

/// X(name, Number): the types that ranks can combine.
#define ACCL_DIRECT_NUMBERS(X) \
  X(int8, Plain<int8_t>)       \
  X(uint8, Plain<uint8_t>)     \
  X(int32, Plain<int32_t>)     \
  X(uint32, Plain<uint32_t>)   \
  X(int64, Plain<int64_t>)     \
  X(uint64, Plain<uint64_t>)   \
  X(float16, Float16)          \
  X(bfloat16, Bfloat16)        \
  X(float32, Plain<float>)     \
  X(float64, Plain<double>)    \
  X(float8e4m3, Float8e4m3)    \
  X(float8e5m2, Float8e5m2)
/// X(name, Number): the widths in which elements are moved.
#define ACCL_DIRECT_WIDTHS(X) \
  X(bytes, Moved<uint8_t>)    \
  X(words, Moved<uint32_t>)

}  // namespace autoccl::direct
