// The AVX2 variant: 32-byte vectors, binary16 by F16C. Compiled with the flags of cmake/Simd.cmake.
#include "engine/kernels_table.h"

#if defined(__AVX2__) && defined(__F16C__)
#include "engine/kernels_loop.h"
#include "engine/kernels_x86.h"

namespace autoccl {
namespace {

struct Avx2 : kernels::X86Isa<kernels::BaseIsa<32>> {
  static Floats floatsOfHalves(Halves h) noexcept { return _mm256_cvtph_ps((__m128i)h); }
  static Halves halvesOfFloats(Floats f) noexcept {
    return (Halves)_mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT);
  }
  /// AVX2 packs within its two 128-bit halves; the permutation brings the results together.
  static Halves lowHalves(Words w) noexcept {
    const __m256i packed = _mm256_packus_epi32((__m256i)w, (__m256i)w);
    return (Halves)_mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0b1000));
  }
  static Bytes lowBytes(Words w) noexcept {
    const auto halves = (__m128i)lowHalves(w);
    return (Bytes)_mm_cvtsi128_si64(_mm_packus_epi16(halves, halves));
  }
};

constexpr KernelTable kTable{"avx2", kernels::reduceByType<Avx2>, kernels::streamCopy<Avx2>};

}  // namespace

const KernelTable* avx2Kernels() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") ? &kTable : nullptr;
}

}  // namespace autoccl
#else
const autoccl::KernelTable* autoccl::avx2Kernels() noexcept {
  return nullptr;
}
#endif
