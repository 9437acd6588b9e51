// Elements as vectors: how each data type is loaded, accumulated and stored again.
// Everything here is a template over an instruction set, so each variant has its own code.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace autoccl::kernels {

/// GCC's vector type: arithmetic, comparison and `mask ? a : b` work lane by lane.
template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T, int kBytes>
using Vector = typename VectorOf<T, kBytes>::type;

/// Loads and stores at any address. The type says so to the compiler, which a memcpy through a
/// register array does not achieve: GCC 12 keeps such arrays in memory.
template <class V>
struct Unaligned {
  typedef V type __attribute__((aligned(1), may_alias));
};
template <class V>
inline __attribute__((always_inline)) V loadVector(const char* at) noexcept {
  return *reinterpret_cast<const typename Unaligned<V>::type*>(at);
}
template <class V>
inline __attribute__((always_inline)) void storeVector(char* at, V v) noexcept {
  *reinterpret_cast<typename Unaligned<V>::type*>(at) = v;
}

/// What an instruction set gives: the width of a register and the few steps that GCC's vectors
/// cannot say well. A variant derives from this and replaces what it does better, bit for bit.
template <int kBytes>
struct BaseIsa {
  static constexpr int kWidth = kBytes;
  static constexpr int kFloats = kBytes / 4;
  using Floats = Vector<float, kBytes>;
  using Words = Vector<uint32_t, kBytes>;
  using Halves = Vector<uint16_t, kBytes / 2>;
  using Bytes = Vector<uint8_t, kBytes / 4>;

  /// IEEE binary16 to float32, exact. NaN stays some NaN.
  static Floats floatsOfHalves(Halves h) noexcept;
  /// float32 to IEEE binary16, nearest even. Positive quiet NaN becomes 0x7e00.
  static Halves halvesOfFloats(Floats f) noexcept;
  /// Integers wider and narrower (values fit).
  static Halves halvesOf(Bytes b) noexcept { return __builtin_convertvector(b, Halves); }
  static Words wordsOf(Halves h) noexcept { return __builtin_convertvector(h, Words); }
  static Halves halvesOf(Words w) noexcept { return __builtin_convertvector(w, Halves); }
  static Bytes bytesOf(Words w) noexcept { return __builtin_convertvector(w, Bytes); }
  /// A store that leaves the caches alone, where there is one; `at` is aligned to sizeof v.
  template <class V>
  static void stream(char* at, V v) noexcept {
    storeVector(at, v);
  }
  /// Orders earlier stream stores before later stores.
  static void fence() noexcept {}
};

/// The same value in every lane.
template <class V, class T>
inline __attribute__((always_inline)) V splat(T value) noexcept {
  return value - V{};
}

/// Lanes that are NaN, as a mask.
template <class V>
inline __attribute__((always_inline)) auto isNan(V v) noexcept {
  return v != v;  // NOLINT(misc-redundant-expression)
}

/// Rounds float32 to a format of kExp exponent and kMan mantissa bits, nearest even. Returns the
/// pattern without its sign; anything past kLimit becomes kLimit (infinity, or the largest finite
/// value where the format saturates). NaN becomes kNan.
template <class Isa, int kExp, int kMan, uint32_t kLimit, uint32_t kNan>
typename Isa::Words roundMagnitude(typename Isa::Floats f) noexcept {
  using Floats = typename Isa::Floats;
  using Words = typename Isa::Words;
  constexpr int kShift = 23 - kMan;
  constexpr uint32_t kBias = (1u << (kExp - 1)) - 1;
  constexpr uint32_t kRebias = (127 - kBias) << 23;
  constexpr uint32_t kFirstNormal = kRebias + (1u << 23);
  // Adding a float whose last bit is worth the smallest subnormal lets the adder do the rounding.
  constexpr uint32_t kMagic = (127 - kBias + kShift + 1) << 23;

  const Words magnitude = (Words)f & 0x7fffffffu;
  const Words odd = (magnitude >> kShift) & 1u;
  const Words normal = (magnitude - kRebias + ((1u << (kShift - 1)) - 1) + odd) >> kShift;
  const Words subnormal = (Words)((Floats)magnitude + (Floats)splat<Words>(kMagic)) - kMagic;
  const Words pattern = magnitude < kFirstNormal ? subnormal : normal;
  const Words limited = pattern > kLimit ? splat<Words>(kLimit) : pattern;
  return isNan(f) ? splat<Words>(kNan) : limited;
}

template <int kBytes>
typename BaseIsa<kBytes>::Floats BaseIsa<kBytes>::floatsOfHalves(Halves h) noexcept {
  const Words wide = wordsOf(h);
  const Words shifted = (wide & 0x7fffu) << 13;
  const Words exponent = shifted & (0x7c00u << 13);
  const Words normal = shifted + (112u << 23);
  const Words special = shifted + (224u << 23);
  // 2^-14 + m x 2^-24 is a normal float32; taking 2^-14 away again leaves the subnormal's value.
  const Floats lowest = (Floats)splat<Words>(113u << 23);
  const Words subnormal = (Words)((Floats)(shifted + (113u << 23)) - lowest);
  Words bits = exponent == (0x7c00u << 13) ? special : normal;
  bits = exponent == 0u ? subnormal : bits;
  return (Floats)(bits | ((wide & 0x8000u) << 16));
}

template <int kBytes>
typename BaseIsa<kBytes>::Halves BaseIsa<kBytes>::halvesOfFloats(Floats f) noexcept {
  const Words sign = ((Words)f >> 16) & 0x8000u;
  return halvesOf(roundMagnitude<BaseIsa, 5, 10, 0x7c00u, 0x7e00u>(f) | sign);
}

/// Integers, float32 and float64 are accumulated as they are.
template <class Isa, class T>
struct Exact {
  using Lane = T;
  using Raw = Vector<T, Isa::kWidth>;
  using Acc = Raw;
  static constexpr bool kIsFloat = std::is_floating_point_v<T>;
  static Acc widen(Raw raw) noexcept { return raw; }
  static Raw narrow(Acc acc) noexcept { return acc; }
};

/// 16-bit floats are accumulated in float32, half as many to a register.
template <class Isa>
struct Float16 {
  using Lane = float;
  using Raw = typename Isa::Halves;
  using Acc = typename Isa::Floats;
  static constexpr bool kIsFloat = true;
  static Acc widen(Raw raw) noexcept { return Isa::floatsOfHalves(raw); }
  static Raw narrow(Acc acc) noexcept { return Isa::halvesOfFloats(acc); }
};

template <class Isa>
struct Bfloat16 {
  using Lane = float;
  using Raw = typename Isa::Halves;
  using Acc = typename Isa::Floats;
  using Words = typename Isa::Words;
  static constexpr bool kIsFloat = true;
  static Acc widen(Raw raw) noexcept { return (Acc)(Isa::wordsOf(raw) << 16); }
  static Raw narrow(Acc acc) noexcept {
    const Words bits = (Words)acc;
    return Isa::halvesOf((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
};

/// float8 with 5 exponent bits is the upper byte of a binary16.
template <class Isa>
struct Float8e5m2 {
  using Lane = float;
  using Raw = typename Isa::Bytes;
  using Acc = typename Isa::Floats;
  using Words = typename Isa::Words;
  static constexpr bool kIsFloat = true;
  static Acc widen(Raw raw) noexcept { return Isa::floatsOfHalves(Isa::halvesOf(raw) << 8); }
  static Raw narrow(Acc acc) noexcept {
    const Words sign = ((Words)acc >> 24) & 0x80u;
    return Isa::bytesOf(roundMagnitude<Isa, 5, 2, 0x7bu, 0x7fu>(acc) | sign);
  }
};

/// float8 with 4 exponent bits (no infinity; S.1111.111 is NaN): its bits at binary16's place are
/// the value over 2^8.
template <class Isa>
struct Float8e4m3 {
  using Lane = float;
  using Raw = typename Isa::Bytes;
  using Acc = typename Isa::Floats;
  using Words = typename Isa::Words;
  static constexpr bool kIsFloat = true;
  static Acc widen(Raw raw) noexcept {
    using Halves = typename Isa::Halves;
    const Halves wide = Isa::halvesOf(raw);
    const Halves half = ((wide & uint16_t{0x7f}) << 7) | ((wide & uint16_t{0x80}) << 8);
    const Acc value = Isa::floatsOfHalves(half) * 256.0f;
    const Words magnitude = Isa::wordsOf(wide & uint16_t{0x7f});
    return magnitude == 0x7fu ? splat<Acc>(std::numeric_limits<float>::quiet_NaN()) : value;
  }
  static Raw narrow(Acc acc) noexcept {
    const Words sign = ((Words)acc >> 24) & 0x80u;
    return Isa::bytesOf(roundMagnitude<Isa, 4, 3, 0x7eu, 0x7fu>(acc) | sign);
  }
};

}  // namespace autoccl::kernels
