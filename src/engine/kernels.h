// Element-wise reduction and copy: k sources into m destinations in one pass over memory.
#pragma once

#include <cstddef>

#include "model/types.h"

namespace autoccl {

inline constexpr int kMaxFan = 64;  // sources or destinations of one call

/// out[i] = finish(op over s of scale_s * src[s][i]), stored into every destination.
/// Sources are taken in the order given: the result does not depend on who computes it.
/// 16- and 8-bit floats are widened to float32, combined there, and rounded once (nearest even;
/// float8 saturates to the largest finite value, NaN stays NaN). Integers wrap.
/// A destination may be one of the sources (same address); any other overlap is undefined.
/// Any alignment, any count (0 too).
struct Reduction {
  const void* const* src = nullptr;
  int nSrc = 0;  // 1..kMaxFan; 1 with kSum is a copy
  void* const* dst = nullptr;
  int nDst = 0;      // 1..kMaxFan
  size_t count = 0;  // elements
  DataType dtype{};
  ReduceOp op{};
  /// kScaledSum: one factor per source (1 for partial results). Null: all 1.
  const double* scale = nullptr;
  /// kAvg: divide by this after the last source; 0 or 1: not here (a partial result). Integers
  /// truncate.
  int divisor = 0;
  /// Stream stores that leave the caches alone: pays for large destinations that were not read.
  bool nonTemporal = false;
};

/// HOT: no allocation, lock, log or system call. Dispatched once at start-up to AVX-512, AVX2 or
/// plain code (AUTOCCL_SIMD=plain|avx2|avx512 forces one, for tests).
void reduce(const Reduction& r) noexcept;

/// memcpy to m destinations; with nonTemporal by stream stores (one sfence at the end).
void copyBytes(void* const* dst, int nDst, const void* src, size_t bytes,
               bool nonTemporal) noexcept;

}  // namespace autoccl
