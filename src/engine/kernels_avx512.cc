// The AVX-512 variant (F, BW, DQ, VL): 64-byte vectors. Compiled with the flags of
// cmake/Simd.cmake.
#include "engine/kernels_table.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "engine/kernels_loop.h"
#include "engine/kernels_x86.h"

namespace autoccl {
namespace {

/// The zeroing forms with all lanes on: the others start from an undefined register, which GCC 12
/// reports as a read of one.
struct Avx512 : kernels::X86Isa<kernels::BaseIsa<64>> {
  static constexpr __mmask16 kAll = 0xffff;
  static Floats floatsOfHalves(Halves h) noexcept {
    return _mm512_maskz_cvtph_ps(kAll, (__m256i)h);
  }
  static Halves halvesOfFloats(Floats f) noexcept {
    return (Halves)_mm512_maskz_cvtps_ph(kAll, f, _MM_FROUND_TO_NEAREST_INT);
  }
  static Halves halvesOf(Bytes b) noexcept { return (Halves)_mm256_cvtepu8_epi16((__m128i)b); }
  static Words wordsOf(Halves h) noexcept {
    return (Words)_mm512_maskz_cvtepu16_epi32(kAll, (__m256i)h);
  }
  static Halves halvesOf(Words w) noexcept {
    return (Halves)_mm512_maskz_cvtepi32_epi16(kAll, (__m512i)w);
  }
  static Bytes bytesOf(Words w) noexcept {
    return (Bytes)_mm512_maskz_cvtepi32_epi8(kAll, (__m512i)w);
  }
};

constexpr KernelTable kTable{"avx512", kernels::reduceByType<Avx512>, kernels::streamCopy<Avx512>};

}  // namespace

const KernelTable* avx512Kernels() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
             ? &kTable
             : nullptr;
}

}  // namespace autoccl
#else
const autoccl::KernelTable* autoccl::avx512Kernels() noexcept {
  return nullptr;
}
#endif
