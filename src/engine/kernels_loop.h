// The one loop behind every reduction: blocks of registers down all sources, out to all
// destinations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/kernels.h"
#include "engine/kernels_lanes.h"

namespace autoccl::kernels {

/// Sums and products of integers wrap: they are formed without sign.
template <class T>
struct WrapOf {
  using type = T;
};
template <class T>
requires std::is_integral_v<T>
struct WrapOf<T> {
  using type = std::make_unsigned_t<T>;
};
template <class Element, class Isa>
using Wrapping = Vector<typename WrapOf<typename Element::Lane>::type, Isa::kWidth>;

/// acc (op) next, lane by lane. A NaN on either side stays NaN; of equal values the first stays.
template <class Isa, class Element, ReduceOp kOp>
inline __attribute__((always_inline)) typename Element::Acc combine(
    typename Element::Acc acc, typename Element::Acc next) noexcept {
  using Acc = typename Element::Acc;
  using Wrap = Wrapping<Element, Isa>;
  if constexpr (kOp == ReduceOp::kProd) {
    return (Acc)((Wrap)acc * (Wrap)next);
  } else if constexpr (kOp == ReduceOp::kMax || kOp == ReduceOp::kMin) {
    const auto better = kOp == ReduceOp::kMax ? next > acc : next < acc;
    if constexpr (Element::kIsFloat) return (better | isNan(next)) ? next : acc;
    return better ? next : acc;
  } else {
    return (Acc)((Wrap)acc + (Wrap)next);
  }
}

/// A factor as a lane: rounded for floats, truncated and clamped for integers.
template <class T>
inline __attribute__((always_inline)) T laneOf(double factor) noexcept {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(factor);
  constexpr T kMin = std::numeric_limits<T>::min();
  constexpr T kMax = std::numeric_limits<T>::max();
  constexpr T kHalf = kMax / 2 + 1;
  constexpr double kPast = 2 * static_cast<double>(kHalf);  // a power of two, exact
  if (!(factor > static_cast<double>(kMin))) return kMin;
  return factor >= kPast ? kMax : static_cast<T>(factor);
}

/// One reduction from its first element to its last, a block of registers at a time: every source
/// of a block is read before any destination is written, so a destination may be a source. kSrc and
/// kDst fix the numbers of sources and destinations; 0 takes them from the call.
template <class Isa, class Element, ReduceOp kOp, int kSrc, int kDst>
class Sweep {
 public:
  using Raw = typename Element::Raw;
  using Acc = typename Element::Acc;
  using Lane = typename Element::Lane;

  explicit Sweep(const Reduction& r, size_t elementBytes) noexcept
      : r_(r), bytes_(r.count * elementBytes) {
    for (int s = 0; s < nSrc(); ++s) src_[s] = static_cast<const char*>(r.src[s]);
    for (int d = 0; d < nDst(); ++d) dst_[d] = static_cast<char*>(r.dst[d]);
  }

  void run() noexcept {
    size_t at = 0;
    const size_t head = r_.nonTemporal ? bytesToAlignment() : kNever;
    if (head < bytes_) {
      if (head != 0) part(0, head);
      for (at = head; at + kBlockBytes <= bytes_; at += kBlockBytes) block<kUnroll, true>(at);
      Isa::fence();
    } else {
      for (; at + kBlockBytes <= bytes_; at += kBlockBytes) block<kUnroll, false>(at);
    }
    for (; at + kRawBytes <= bytes_; at += kRawBytes) block<1, false>(at);
    if (at < bytes_) part(at, bytes_ - at);
  }

 private:
  static constexpr size_t kRawBytes = sizeof(Raw);
  static constexpr int kUnroll = 4;
  static constexpr size_t kBlockBytes = kUnroll * kRawBytes;
  /// Widening leaves too little room in the core's window to see the next lines coming.
  static constexpr bool kPrefetch = sizeof(Raw) < sizeof(Acc);
  static constexpr size_t kAhead = 2048;
  static constexpr size_t kNever = ~size_t{0};
  static constexpr Lane kNan = std::numeric_limits<Lane>::quiet_NaN();  // 0 for integers

  int nSrc() const noexcept { return kSrc != 0 ? kSrc : r_.nSrc; }
  int nDst() const noexcept { return kDst != 0 ? kDst : r_.nDst; }

  /// Bytes until all destinations are aligned for stream stores; kNever if they never are at once.
  size_t bytesToAlignment() const noexcept {
    const size_t offset = reinterpret_cast<uintptr_t>(dst_[0]) % kRawBytes;
    for (int d = 1; d < nDst(); ++d)
      if (reinterpret_cast<uintptr_t>(dst_[d]) % kRawBytes != offset) return kNever;
    const size_t head = (kRawBytes - offset) % kRawBytes;
    return head % (bytes_ / r_.count) == 0 ? head : kNever;
  }

  static Acc load(const char* at) noexcept { return Element::widen(loadVector<Raw>(at)); }

  Acc scaled(Acc value, int s) const noexcept {
    if constexpr (kOp != ReduceOp::kScaledSum) return value;
    return combine<Isa, Element, ReduceOp::kProd>(value, splat<Acc>(laneOf<Lane>(r_.scale[s])));
  }

  /// After the last source: the average's division, and one pattern for all NaNs.
  Acc finish(Acc acc) const noexcept {
    if constexpr (kOp == ReduceOp::kAvg) acc = divided(acc);
    if constexpr (Element::kIsFloat) acc = isNan(acc) ? splat<Acc>(kNan) : acc;
    return acc;
  }

  Acc divided(Acc acc) const noexcept {
    if constexpr (Element::kIsFloat) {
      // Multiplying by the inverse of a power of two is the same number, and much faster.
      if ((r_.divisor & (r_.divisor - 1)) == 0)
        return acc * splat<Acc>(Lane{1} / static_cast<Lane>(r_.divisor));
      return acc / splat<Acc>(static_cast<Lane>(r_.divisor));
    } else {
      using Wide = std::conditional_t<std::is_signed_v<Lane>, int64_t, uint64_t>;
#pragma GCC unroll 1
      for (size_t i = 0; i < sizeof(Acc) / sizeof(Lane); ++i)
        acc[i] = static_cast<Lane>(static_cast<Wide>(acc[i]) / static_cast<Wide>(r_.divisor));
      return acc;
    }
  }

  template <int kVectors, bool kStream>
  __attribute__((always_inline)) void block(size_t at) noexcept {
    Acc acc[kVectors];
    prefetch<kVectors>(0, at);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) acc[v] = scaled(load(src_[0] + at + v * kRawBytes), 0);
    for (int s = 1; s < nSrc(); ++s) {
      prefetch<kVectors>(s, at);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        acc[v] = combine<Isa, Element, kOp>(acc[v], scaled(load(src_[s] + at + v * kRawBytes), s));
    }
    Raw out[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) out[v] = Element::narrow(finish(acc[v]));
    for (int d = 0; d < nDst(); ++d) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store<kStream>(dst_[d] + at + v * kRawBytes, out[v]);
    }
  }

  /// Not past the range: the lines behind it may be another core's work.
  template <int kVectors>
  __attribute__((always_inline)) void prefetch(int s, size_t at) const noexcept {
    if constexpr (kPrefetch && kVectors > 1) {
      const char* ahead = src_[s] + (at + kAhead < bytes_ ? at + kAhead : at);
#pragma GCC unroll 2
      for (size_t line = 0; line < kVectors * kRawBytes; line += 64)
        __builtin_prefetch(ahead + line);
    }
  }

  template <bool kStream>
  static __attribute__((always_inline)) void store(char* at, Raw out) noexcept {
    if constexpr (kStream) {
      Isa::stream(at, out);
    } else {
      storeVector(at, out);
    }
  }

  /// Less than a register: through zeroed ones.
  __attribute__((noinline)) void part(size_t at, size_t bytes) noexcept {
    const auto loadPart = [&](int s) {
      Raw raw{};
      std::memcpy(&raw, src_[s] + at, bytes);
      return scaled(Element::widen(raw), s);
    };
    Acc acc = loadPart(0);
    for (int s = 1; s < nSrc(); ++s) acc = combine<Isa, Element, kOp>(acc, loadPart(s));
    const Raw out = Element::narrow(finish(acc));
    for (int d = 0; d < nDst(); ++d) std::memcpy(dst_[d] + at, &out, bytes);
  }

  const Reduction& r_;
  size_t bytes_;
  const char* src_[kSrc != 0 ? kSrc : kMaxFan];
  char* dst_[kDst != 0 ? kDst : kMaxFan];
};

/// Two sources have loops of their own for the sums of training: their pointers stay in registers.
/// More do not gain from it (bench/kernels: the loop over any number is as fast as memory).
template <class Isa, class Element, ReduceOp kOp>
void reduceElements(const Reduction& r, size_t elementBytes) noexcept {
  if constexpr (kOp == ReduceOp::kSum && Element::kIsFloat) {
    if (r.nSrc == 2 && r.nDst == 1) return Sweep<Isa, Element, kOp, 2, 1>(r, elementBytes).run();
    if (r.nSrc == 2 && r.nDst == 2) return Sweep<Isa, Element, kOp, 2, 2>(r, elementBytes).run();
  }
  Sweep<Isa, Element, kOp, 0, 0>(r, elementBytes).run();
}

template <class Isa, class Element>
void reduceByOp(const Reduction& r, size_t elementBytes) noexcept {
  switch (r.op) {
    case ReduceOp::kProd:
      return reduceElements<Isa, Element, ReduceOp::kProd>(r, elementBytes);
    case ReduceOp::kMax:
      return reduceElements<Isa, Element, ReduceOp::kMax>(r, elementBytes);
    case ReduceOp::kMin:
      return reduceElements<Isa, Element, ReduceOp::kMin>(r, elementBytes);
    case ReduceOp::kAvg:
      if (r.divisor > 1) return reduceElements<Isa, Element, ReduceOp::kAvg>(r, elementBytes);
      break;
    case ReduceOp::kScaledSum:
      if (r.scale != nullptr)
        return reduceElements<Isa, Element, ReduceOp::kScaledSum>(r, elementBytes);
      break;
    case ReduceOp::kSum:
      break;
  }
  reduceElements<Isa, Element, ReduceOp::kSum>(r, elementBytes);
}

template <class Isa>
void reduceByType(const Reduction& r) noexcept {
  switch (r.dtype) {
    case DataType::kInt8:
      return reduceByOp<Isa, Exact<Isa, int8_t>>(r, 1);
    case DataType::kUint8:
      return reduceByOp<Isa, Exact<Isa, uint8_t>>(r, 1);
    case DataType::kInt16:
      return reduceByOp<Isa, Exact<Isa, int16_t>>(r, 2);
    case DataType::kUint16:
      return reduceByOp<Isa, Exact<Isa, uint16_t>>(r, 2);
    case DataType::kInt32:
      return reduceByOp<Isa, Exact<Isa, int32_t>>(r, 4);
    case DataType::kUint32:
      return reduceByOp<Isa, Exact<Isa, uint32_t>>(r, 4);
    case DataType::kInt64:
      return reduceByOp<Isa, Exact<Isa, int64_t>>(r, 8);
    case DataType::kUint64:
      return reduceByOp<Isa, Exact<Isa, uint64_t>>(r, 8);
    case DataType::kFloat16:
      return reduceByOp<Isa, Float16<Isa>>(r, 2);
    case DataType::kBfloat16:
      return reduceByOp<Isa, Bfloat16<Isa>>(r, 2);
    case DataType::kFloat32:
      return reduceByOp<Isa, Exact<Isa, float>>(r, 4);
    case DataType::kFloat64:
      return reduceByOp<Isa, Exact<Isa, double>>(r, 8);
    case DataType::kFloat8e4m3:
      return reduceByOp<Isa, Float8e4m3<Isa>>(r, 1);
    case DataType::kFloat8e5m2:
      return reduceByOp<Isa, Float8e5m2<Isa>>(r, 1);
  }
}

/// A copy by stream stores; the caller fences once at the end.
template <class Isa>
void streamCopy(void* dst, const void* src, size_t bytes) noexcept {
  using Raw = Vector<uint8_t, Isa::kWidth>;
  auto* to = static_cast<char*>(dst);
  const auto* from = static_cast<const char*>(src);
  const size_t head = (sizeof(Raw) - reinterpret_cast<uintptr_t>(to) % sizeof(Raw)) % sizeof(Raw);
  if (head >= bytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  size_t at = head;
  for (; at + sizeof(Raw) <= bytes; at += sizeof(Raw)) {
    Isa::stream(to + at, loadVector<Raw>(from + at));
  }
  std::memcpy(to + at, from + at, bytes - at);
}

}  // namespace autoccl::kernels
