// An independent, slow reduction for tests: one element at a time, formats by arithmetic on
// doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "model/types.h"

namespace autoccl {

/// A small float format as a table of its values. Rounding searches the table: nearest, ties to the
/// even code, as the definition says. No bit is shifted that the kernels shift.
class FloatFormat {
 public:
  /// `infinite`: the top exponent means infinity and NaN; otherwise only the last code is NaN.
  FloatFormat(int exponentBits, int mantissaBits, bool infinite, bool saturates, uint32_t nan)
      : mantissaBits_(mantissaBits),
        bias_((1 << (exponentBits - 1)) - 1),
        saturates_(saturates),
        nan_(nan) {
    const uint32_t codes = 1u << (exponentBits + mantissaBits);
    signBit_ = codes;
    const uint32_t finite = infinite ? codes - (1u << mantissaBits) : codes - 1;
    for (uint32_t c = 0; c < finite; ++c) values_.push_back(magnitude(c));
    infinity_ = infinite ? finite : codes;
  }

  [[nodiscard]] float decode(uint32_t code) const {
    const uint32_t c = code & (signBit_ - 1);
    const float sign = (code & signBit_) != 0 ? -1.0f : 1.0f;
    if (c < values_.size()) return sign * static_cast<float>(values_[c]);
    return c == infinity_ ? sign * std::numeric_limits<float>::infinity() : std::nanf("");
  }

  [[nodiscard]] uint32_t encode(float value) const {
    if (std::isnan(value)) return nan_;
    const uint32_t sign = std::signbit(value) ? signBit_ : 0;
    const double v = std::fabs(static_cast<double>(value));
    const auto above = std::upper_bound(values_.begin(), values_.end(), v);
    const auto below = static_cast<uint32_t>(above - values_.begin()) - 1;
    const double next = magnitude(below + 1);  // of the last code: where the next would be
    const double middle = (values_[below] + next) / 2;
    const bool up = v > middle || (v == middle && below % 2 == 1);
    const uint32_t code = below + (up ? 1 : 0);
    if (code < values_.size()) return sign | code;
    return sign | (saturates_ ? static_cast<uint32_t>(values_.size()) - 1 : infinity_);
  }

 private:
  [[nodiscard]] double magnitude(uint32_t code) const {
    const uint32_t fraction = code & ((1u << mantissaBits_) - 1);
    const int exponent = static_cast<int>(code >> mantissaBits_);
    const double significand = std::ldexp(fraction, -mantissaBits_) + (exponent > 0 ? 1 : 0);
    return std::ldexp(significand, std::max(exponent, 1) - bias_);
  }

  int mantissaBits_;
  int bias_;
  bool saturates_;
  uint32_t nan_;
  uint32_t signBit_ = 0;
  uint32_t infinity_ = 0;
  std::vector<double> values_;
};

inline const FloatFormat& formatOf(DataType type) {
  static const FloatFormat half(5, 10, true, false, 0x7e00);
  static const FloatFormat brain(8, 7, true, false, 0x7fc0);
  static const FloatFormat e4m3(4, 3, false, true, 0x7f);
  static const FloatFormat e5m2(5, 2, true, true, 0x7f);
  switch (type) {
    case DataType::kFloat16:
      return half;
    case DataType::kBfloat16:
      return brain;
    case DataType::kFloat8e4m3:
      return e4m3;
    default:
      return e5m2;
  }
}

/// The six operations on one type that C++ has; integers wrap.
template <class T>
T combineReference(ReduceOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (op == ReduceOp::kMax) return std::max(a, b);
    if (op == ReduceOp::kMin) return std::min(a, b);
    const uint64_t x = static_cast<std::make_unsigned_t<T>>(a),
                   y = static_cast<std::make_unsigned_t<T>>(b);
    return static_cast<T>(op == ReduceOp::kProd ? x * y : x + y);
  } else {
    const bool larger = op == ReduceOp::kMax;
    if (larger || op == ReduceOp::kMin) {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
      return (larger ? b > a : b < a) ? b : a;
    }
    return op == ReduceOp::kProd ? a * b : a + b;
  }
}

/// A factor as a value of T: integers are truncated and clamped (long double holds every one).
template <class T>
T factorReference(double factor) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(factor);
  using Limits = std::numeric_limits<T>;
  if (std::isnan(factor)) return Limits::min();
  return static_cast<T>(std::clamp<long double>(factor, Limits::min(), Limits::max()));
}

template <class T>
T reduceReference(ReduceOp op, std::span<const T> values, const double* scale, int divisor) {
  const auto scaled = [&](size_t s) -> T {
    if (op != ReduceOp::kScaledSum || scale == nullptr) return values[s];
    return combineReference<T>(ReduceOp::kProd, factorReference<T>(scale[s]), values[s]);
  };
  T acc = scaled(0);
  for (size_t s = 1; s < values.size(); ++s) acc = combineReference<T>(op, acc, scaled(s));
  if (op == ReduceOp::kAvg && divisor > 1) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
      acc = static_cast<T>(int64_t{acc} / divisor);
    else
      acc = static_cast<T>(
          acc / static_cast<std::conditional_t<std::is_integral_v<T>, uint64_t, T>>(divisor));
  }
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(acc)) return std::numeric_limits<T>::quiet_NaN();
  return acc;
}

/// One element: sources are addresses of it, the result is written to `out`.
class ElementReference {
 public:
  ElementReference(DataType type, ReduceOp op, const double* scale, int divisor)
      : type_(type), op_(op), scale_(scale), divisor_(divisor) {}

  void operator()(std::span<const void* const> src, void* out) const {
    switch (type_) {
      case DataType::kInt8:
        return native<int8_t>(src, out);
      case DataType::kUint8:
        return native<uint8_t>(src, out);
      case DataType::kInt16:
        return native<int16_t>(src, out);
      case DataType::kUint16:
        return native<uint16_t>(src, out);
      case DataType::kInt32:
        return native<int32_t>(src, out);
      case DataType::kUint32:
        return native<uint32_t>(src, out);
      case DataType::kInt64:
        return native<int64_t>(src, out);
      case DataType::kUint64:
        return native<uint64_t>(src, out);
      case DataType::kFloat32:
        return native<float>(src, out);
      case DataType::kFloat64:
        return native<double>(src, out);
      case DataType::kFloat16:
      case DataType::kBfloat16:
        return small<uint16_t>(src, out);
      case DataType::kFloat8e4m3:
      case DataType::kFloat8e5m2:
        return small<uint8_t>(src, out);
    }
  }

 private:
  template <class T>
  static T at(const void* address) {
    T value;
    std::memcpy(&value, address, sizeof value);
    return value;
  }
  template <class T>
  void native(std::span<const void* const> src, void* out) const {
    if (isCopy(src.size())) {
      std::memcpy(out, src[0], sizeof(T));
      return;
    }
    std::vector<T> values;
    for (const void* s : src) values.push_back(at<T>(s));
    const T result = reduceReference<T>(op_, values, scale_, divisor_);
    std::memcpy(out, &result, sizeof result);
  }
  template <class Code>
  void small(std::span<const void* const> src, void* out) const {
    if (isCopy(src.size())) {
      std::memcpy(out, src[0], sizeof(Code));
      return;
    }
    std::vector<float> values;
    for (const void* s : src) values.push_back(formatOf(type_).decode(at<Code>(s)));
    const auto code = static_cast<Code>(
        formatOf(type_).encode(reduceReference<float>(op_, values, scale_, divisor_)));
    std::memcpy(out, &code, sizeof code);
  }
  [[nodiscard]] bool isCopy(size_t nSrc) const {
    if (nSrc != 1) return false;
    if (op_ == ReduceOp::kAvg) return divisor_ <= 1;
    return op_ != ReduceOp::kScaledSum || scale_ == nullptr;
  }

  DataType type_;
  ReduceOp op_;
  const double* scale_;
  int divisor_;
};

}  // namespace autoccl
