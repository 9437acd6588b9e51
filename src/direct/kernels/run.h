// A block's (or a grid's) pass over a run of bytes, several units in flight a thread.
#pragma once

#include "direct/kernels/pieces.h"

namespace autoccl::direct {

/// Where a thread begins, how far its units lie apart, where the run ends. `wide`: all addresses of
/// the run suit 16-byte accesses.
struct Span {
  uint64_t first = 0;
  uint64_t step = 16;
  uint64_t bytes = 0;
  bool wide = false;
};

/// load(source, at) gives a unit of 16 bytes, store(target, at, unit) takes one. All loads of one
/// source are issued before any value is used, and those of the next before they are combined: what
/// a link's latency costs is shared by kAhead units.
template <class Number>
struct Run {
  using Unit = Words<4>;
#if defined(__CUDA_ARCH__)
  static constexpr int kAhead = sizeof(StoredOf<Number>) == 1 && !kMovedOnly<Number> ? 1 : 4;
#else
  static constexpr int kAhead = 2;
#endif

  template <class Load, class Store>
  static ACCL_BOTH void move(Span span, uint32_t nTargets, const Load& load, const Store& store) {
    forAll(span, [&](auto count, uint64_t at) {
      constexpr int kCount = decltype(count)::value;
      Unit data[kCount];
      fetch<kCount>(span, 0, at, load, data);
      for (uint32_t t = 0; t < nTargets; ++t) put<kCount>(span, t, at, store, data);
    });
  }

  /// nCombined: the divisor of avg.
  template <class Load, class Store>
  static ACCL_BOTH void combine(Span span, ReduceOp op, uint32_t nCombined, uint32_t nSources,
                                uint32_t nTargets, const Load& load, const Store& store) {
    forAll(span, [&](auto count, uint64_t at) {
      constexpr int kCount = decltype(count)::value;
      Combining<Number, 4> sums[kCount];
      Unit data[kCount], next[kCount] = {};
      fetch<kCount>(span, 0, at, load, data);
      for (uint32_t s = 0; s < nSources; ++s) {
        if (s + 1 < nSources) fetch<kCount>(span, s + 1, at, load, next);
        ACCL_UNROLL
        for (int j = 0; j < kCount; ++j) {
          if (s == 0)
            sums[j].start(data[j]);
          else
            sums[j].add(op, data[j]);
          data[j] = next[j];
        }
      }
      ACCL_UNROLL
      for (int j = 0; j < kCount; ++j) data[j] = sums[j].result(op, nCombined);
      for (uint32_t t = 0; t < nTargets; ++t) put<kCount>(span, t, at, store, data);
    });
  }

 private:
  template <int kCount>
  using Count = std::integral_constant<int, kCount>;

  template <class Do>
  static ACCL_BOTH void forAll(const Span& span, const Do& once) {
    uint64_t at = span.first;
    if (span.wide)
      for (; at + (kAhead - 1) * span.step + 16 <= span.bytes; at += kAhead * span.step)
        once(Count<kAhead>(), at);
    for (; at < span.bytes; at += span.step) once(Count<1>(), at);
  }
  template <int kCount, class Load>
  static ACCL_BOTH void fetch(const Span& span, uint32_t source, uint64_t at, const Load& load,
                              Unit (&units)[kCount]) {
    ACCL_UNROLL
    for (int j = 0; j < kCount; ++j) units[j] = load(source, at + j * span.step);
  }
  template <int kCount, class Store>
  static ACCL_BOTH void put(const Span& span, uint32_t target, uint64_t at, const Store& store,
                            const Unit (&units)[kCount]) {
    ACCL_UNROLL
    for (int j = 0; j < kCount; ++j) store(target, at + j * span.step, units[j]);
  }
};

}  // namespace autoccl::direct
