// Stream stores of x86-64 by the size of a register.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

namespace autoccl::kernels {

/// Base is the variant's BaseIsa. Stores wider than the compiled instruction set are never formed.
template <class Base>
struct X86Isa : Base {
  template <class V>
  static void stream(char* at, V v) noexcept {
    void* const to = at;
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) _mm512_stream_si512(static_cast<__m512i*>(to), (__m512i)v);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) _mm256_stream_si256(static_cast<__m256i*>(to), (__m256i)v);
#endif
    if constexpr (sizeof(V) == 16) _mm_stream_si128(static_cast<__m128i*>(to), (__m128i)v);
    if constexpr (sizeof(V) == 8) _mm_stream_si64(static_cast<long long*>(to), (long long)v);
    if constexpr (sizeof(V) == 4) _mm_stream_si32(static_cast<int*>(to), (int)v);
  }
  static void fence() noexcept {
    _mm_sfence();
  }
};

}  // namespace autoccl::kernels
#endif
