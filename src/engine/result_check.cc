#include "engine/result_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace autoccl {
namespace {

/// A float format: widths of exponent and mantissa. `finite`: no infinities, one NaN (all ones).
struct Format {
  int exponentBits = 0;
  int mantissaBits = 0;
  bool finite = false;
};

Format formatOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16:
      return {5, 10, false};
    case DataType::kBfloat16:
      return {8, 7, false};
    case DataType::kFloat32:
      return {8, 23, false};
    case DataType::kFloat64:
      return {11, 52, false};
    case DataType::kFloat8e4m3:
      return {4, 3, true};
    case DataType::kFloat8e5m2:
      return {5, 2, false};
    default:
      return {};  // an integer
  }
}

double valueOf(uint64_t bits, const Format& f) {
  const uint64_t mantissa = bits & ((uint64_t{1} << f.mantissaBits) - 1);
  const uint64_t allOnes = (uint64_t{1} << f.exponentBits) - 1;
  const uint64_t exponent = (bits >> f.mantissaBits) & allOnes;
  const bool negative = (bits >> (f.mantissaBits + f.exponentBits)) & 1;
  const int bias = (1 << (f.exponentBits - 1)) - 1;
  const uint64_t fullMantissa = (uint64_t{1} << f.mantissaBits) - 1;
  double value = 0;
  if (exponent == allOnes && (!f.finite || mantissa == fullMantissa))
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias - f.mantissaBits);
  else
    value = std::ldexp(static_cast<double>(mantissa | (fullMantissa + 1)),
                       static_cast<int>(exponent) - bias - f.mantissaBits);
  return negative ? -value : value;
}

double valueAt(const void* data, uint64_t i, size_t elementBytes, const Format& f) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(data) + i * elementBytes, elementBytes);
  return valueOf(bits, f);
}

}  // namespace

bool sameValues(const void* a, const void* b, uint64_t bytes, DataType dtype, int nRanks) {
  const Format format = formatOf(dtype);
  if (bytes == 0 || std::memcmp(a, b, bytes) == 0) return true;
  if (format.exponentBits == 0) return false;
  const size_t size = sizeOf(dtype);
  double largest = 0;
  for (uint64_t i = 0; i < bytes / size; ++i) {
    const double x = std::fabs(valueAt(b, i, size, format));
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  const double tolerance = 4.0 * nRanks * std::ldexp(1.0, -format.mantissaBits) * largest;
  for (uint64_t i = 0; i < bytes / size; ++i) {
    const double x = valueAt(a, i, size, format), y = valueAt(b, i, size, format);
    const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= tolerance;
    if (!same) return false;
  }
  return true;
}

void ResultCheck::keepInput(const Call& call, int rank, int nRanks) {
  input_.resize(recvExtent(call, rank, nRanks));
  if (!input_.empty()) std::memcpy(input_.data(), call.recv, input_.size());
}

void ResultCheck::keepResult(const Call& call) {
  result_.resize(input_.size());
  if (input_.empty()) return;
  std::memcpy(result_.data(), call.recv, result_.size());
  std::memcpy(call.recv, input_.data(), input_.size());
}

bool ResultCheck::agrees(const Call& call, int nRanks) const {
  return sameValues(result_.data(), call.recv, result_.size(), call.dtype, nRanks);
}

bool ResultCheck::firstTime(uint64_t taskKey, const Config& config) {
  auto& configs = seen_[taskKey];
  if (std::find(configs.begin(), configs.end(), config) != configs.end()) return false;
  configs.push_back(config);
  return true;
}

}  // namespace autoccl
