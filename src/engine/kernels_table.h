// The variants of the reduction kernels and the choice among them.
#pragma once

#include <span>
#include <string_view>

#include "engine/kernels.h"

namespace autoccl {

/// One variant: what reduce() and copyBytes() call. A reduction that reaches `reduce` has at least
/// one element, and more than a plain copy to do.
struct KernelTable {
  std::string_view name;  // "plain", "avx2", "avx512"
  void (*reduce)(const Reduction& r) noexcept;
  /// Stream stores to one destination, without the closing fence.
  void (*stream)(void* dst, const void* src, size_t bytes) noexcept;
};

/// Null where the build or this processor does not have the instructions.
[[nodiscard]] const KernelTable* plainKernels() noexcept;
[[nodiscard]] const KernelTable* avx2Kernels() noexcept;
[[nodiscard]] const KernelTable* avx512Kernels() noexcept;

/// The variant named `wanted` or, if this processor lacks it, the widest below it; any other word
/// ("auto") is the widest there is.
[[nodiscard]] const KernelTable& kernelsNamed(std::string_view wanted) noexcept;

/// The variant in use: kernelsNamed(AUTOCCL_SIMD), chosen at the first call and never changed.
[[nodiscard]] const KernelTable& activeKernels() noexcept;

/// reduce() and copyBytes() by a given variant.
void reduceWith(const KernelTable& kernels, const Reduction& r) noexcept;
void copyBytesWith(const KernelTable& kernels, void* const* dst, int nDst, const void* src,
                   size_t bytes, bool nonTemporal) noexcept;

}  // namespace autoccl
