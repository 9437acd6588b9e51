#include "engine/kernels.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "engine/kernels_table.h"

namespace autoccl {
namespace {

/// Bytes of a source that several destinations take from the first-level cache.
constexpr size_t kCopyBlock = 8 * 1024;

/// With one source nothing is combined: unless it is scaled or divided, the bits pass unchanged.
bool isCopy(const Reduction& r) noexcept {
  if (r.nSrc != 1) return false;
  if (r.op == ReduceOp::kAvg) return r.divisor <= 1;
  return r.op != ReduceOp::kScaledSum || r.scale == nullptr;
}

void copyOnce(void* dst, const void* src, size_t bytes, bool nonTemporal,
              const KernelTable& kernels) noexcept {
  if (dst == src) return;
  if (nonTemporal)
    kernels.stream(dst, src, bytes);
  else
    std::memcpy(dst, src, bytes);
}

}  // namespace

const KernelTable& kernelsNamed(std::string_view wanted) noexcept {
  if (wanted != "plain" && wanted != "avx2")
    if (const KernelTable* table = avx512Kernels()) return *table;
  if (wanted != "plain")
    if (const KernelTable* table = avx2Kernels()) return *table;
  return *plainKernels();
}

const KernelTable& activeKernels() noexcept {
  static std::atomic<const KernelTable*> active{nullptr};
  const KernelTable* table = active.load(std::memory_order_acquire);
  if (table == nullptr) {
    const char* wanted = std::getenv("AUTOCCL_SIMD");
    table = &kernelsNamed(wanted != nullptr ? wanted : "auto");
    active.store(table, std::memory_order_release);
  }
  return *table;
}

void reduceWith(const KernelTable& kernels, const Reduction& r) noexcept {
  if (r.count == 0) return;
  if (isCopy(r)) {
    copyBytesWith(kernels, r.dst, r.nDst, r.src[0], r.count * sizeOf(r.dtype), r.nonTemporal);
  } else {
    kernels.reduce(r);
  }
}

void copyBytesWith(const KernelTable& kernels, void* const* dst, int nDst, const void* src,
                   size_t bytes, bool nonTemporal) noexcept {
  const size_t block = nDst > 1 ? kCopyBlock : bytes;
  for (size_t at = 0; at < bytes; at += block)
    for (int d = 0; d < nDst; ++d)
      copyOnce(static_cast<char*>(dst[d]) + at, static_cast<const char*>(src) + at,
               std::min(block, bytes - at), nonTemporal, kernels);
#if defined(__x86_64__)
  if (nonTemporal) _mm_sfence();
#endif
}

void reduce(const Reduction& r) noexcept {
  reduceWith(activeKernels(), r);
}

void copyBytes(void* const* dst, int nDst, const void* src, size_t bytes,
               bool nonTemporal) noexcept {
  copyBytesWith(activeKernels(), dst, nDst, src, bytes, nonTemporal);
}

}  // namespace autoccl
