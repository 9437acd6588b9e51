#include "tune/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace autoccl {
namespace {

constexpr double kNormalMad = 1.4826;   // of the median absolute deviation, for normal data
constexpr double kMedianLoss = 1.2533;  // standard error of a median over that of a mean

/// Upper normal quantile by bisection on erfc: 60 halvings of [-9, 9].
double normalUpper(double tail) {
  double low = -9, high = 9;
  for (int i = 0; i < 60; ++i) {
    const double mid = (low + high) / 2;
    (0.5 * std::erfc(mid / std::numbers::sqrt2) > tail ? low : high) = mid;
  }
  return low;
}

double meanOf(std::span<const double> v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return v.empty() ? 0 : sum / double(v.size());
}

double sdOf(std::span<const double> v, double mean) {
  double sum = 0;
  for (const double x : v) sum += (x - mean) * (x - mean);
  return v.size() < 2 ? 0 : std::sqrt(sum / double(v.size() - 1));
}

}  // namespace

double median(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> v(values.begin(), values.end());
  const auto half = v.begin() + std::ptrdiff_t(v.size() / 2);
  std::nth_element(v.begin(), half, v.end());
  if (v.size() % 2) return *half;
  return (*half + *std::max_element(v.begin(), half)) / 2;
}

double robustSd(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double centre = median(values);
  std::vector<double> away(values.begin(), values.end());
  for (double& x : away) x = std::abs(x - centre);
  return kNormalMad * median(away);
}

double medianSe(std::span<const double> values) {
  if (values.size() < 2) return 0;
  return kMedianLoss * robustSd(values) / std::sqrt(double(values.size()));
}

double studentQuantile(double alpha, int degrees) {
  if (degrees <= 1) return 1.0 / std::tan(std::numbers::pi * alpha / 2);
  if (degrees == 2) return std::sqrt(2.0 / (alpha * (2.0 - alpha)) - 2.0);
  const double z = normalUpper(alpha / 2), n = degrees, z2 = z * z;
  const double first = z * (z2 + 1) / 4;
  const double second = z * (5 * z2 * z2 + 16 * z2 + 3) / 96;
  const double third = z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / 384;
  const double fourth =
      z * (79 * z2 * z2 * z2 * z2 + 776 * z2 * z2 * z2 + 1482 * z2 * z2 - 1920 * z2 - 945) / 92160;
  return z + first / n + second / (n * n) + third / (n * n * n) + fourth / (n * n * n * n);
}

Interval pairedInterval(std::span<const double> logRatios, double alpha) {
  Interval result;
  result.pairs = static_cast<int>(logRatios.size());
  constexpr double kNothing = std::numeric_limits<double>::infinity();
  if (logRatios.size() < 2) {
    result.mean = logRatios.empty() ? 0 : logRatios[0];
    result.se = result.high = kNothing;
    result.low = -kNothing;
    return result;
  }
  const double centre = median(logRatios), reach = 3 * robustSd(logRatios);
  std::vector<double> v(logRatios.begin(), logRatios.end());
  if (reach > 0)
    for (double& x : v) x = std::clamp(x, centre - reach, centre + reach);
  result.mean = meanOf(v);
  result.se = sdOf(v, result.mean) / std::sqrt(double(v.size()));
  const double reachOut = studentQuantile(alpha, result.pairs - 1) * result.se;
  result.low = result.mean - reachOut;
  result.high = result.mean + reachOut;
  return result;
}

double selfHalfWidth(std::span<const std::vector<double>> blocks) {
  std::vector<double> ratios;
  for (const auto& block : blocks) {
    const size_t half = block.size() / 2;
    if (half == 0) continue;
    const double first = median({block.data(), half});
    const double second = median({block.data() + half, block.size() - half});
    if (first > 0 && second > 0) ratios.push_back(std::log(first / second));
  }
  return ratios.size() < 2 ? 0 : pairedInterval(ratios, 0.05).halfWidth();
}

}  // namespace autoccl
