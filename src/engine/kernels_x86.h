// Stream stores of x86-64 by the size of a register.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

namespace autoccl::kernels {

/// Base is the variant's BaseIsa. Stores wider than the compiled instruction set are never formed.
template <class Base>
struct X86Isa : Base {
  template <class V>
  static void stream(void* at, V v) noexcept {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64)
      return _mm512_stream_si512(static_cast<__m512i*>(at), (__m512i)v);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32)
      return _mm256_stream_si256(static_cast<__m256i*>(at), (__m256i)v);
#endif
    if constexpr (sizeof(V) == 16) return _mm_stream_si128(static_cast<__m128i*>(at), (__m128i)v);
    if constexpr (sizeof(V) == 8) return _mm_stream_si64(static_cast<long long*>(at), (long long)v);
    if constexpr (sizeof(V) == 4) return _mm_stream_si32(static_cast<int*>(at), (int)v);
  }
  static void fence() noexcept {
    _mm_sfence();
  }
};

}  // namespace autoccl::kernels
#endif
