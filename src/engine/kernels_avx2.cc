// The AVX2 variant: 32-byte vectors, binary16 by F16C. Compiled with the flags of cmake/Simd.cmake.
#include "engine/kernels_table.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <cpuid.h>

#include "engine/kernels_loop.h"
#include "engine/kernels_x86.h"

namespace autoccl {
namespace {

struct Avx2 : kernels::X86Isa<kernels::BaseIsa<32>> {
  static Floats floatsOfHalves(Halves h) noexcept { return _mm256_cvtph_ps((__m128i)h); }
  static Halves halvesOfFloats(Floats f) noexcept {
    return (Halves)_mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT);
  }
  static Halves halvesOf(Bytes b) noexcept {
    return (Halves)_mm_cvtepu8_epi16(_mm_cvtsi64_si128((long long)b));
  }
  static Words wordsOf(Halves h) noexcept { return (Words)_mm256_cvtepu16_epi32((__m128i)h); }
  /// AVX2 packs within its two 128-bit halves; the permutation brings the results together.
  static Halves halvesOf(Words w) noexcept {
    const __m256i packed = _mm256_packus_epi32((__m256i)w, (__m256i)w);
    return (Halves)_mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0b1000));
  }
  static Bytes bytesOf(Words w) noexcept {
    const auto halves = (__m128i)halvesOf(w);
    return (Bytes)_mm_cvtsi128_si64(_mm_packus_epi16(halves, halves));
  }
};

constexpr KernelTable kTable{"avx2", kernels::reduceByType<Avx2>, kernels::streamCopy<Avx2>};

}  // namespace

const KernelTable* avx2Kernels() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool hasF16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  return __builtin_cpu_supports("avx2") && hasF16c ? &kTable : nullptr;
}

}  // namespace autoccl
#else
const autoccl::KernelTable* autoccl::avx2Kernels() noexcept {
  return nullptr;
}
#endif
