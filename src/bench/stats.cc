#include "bench/stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace autoccl::bench {
namespace {

/// Two-sided 95 % points of Student's distribution for 1, 2, ... degrees of freedom.
constexpr std::array<double, 30> kStudent95 = {
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
constexpr double kNormal95 = 1.960;

double student95(size_t freedom) {
  return freedom <= kStudent95.size() ? kStudent95[freedom - 1] : kNormal95;
}

}  // namespace

double quantile(std::span<const double> values, double q) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

RatioInterval ratioOverRounds(std::span<const double> theirs, std::span<const double> ours) {
  const size_t n = std::min(theirs.size(), ours.size());
  std::vector<double> logs;
  for (size_t k = 0; k < n; ++k)
    if (theirs[k] > 0 && ours[k] > 0) logs.push_back(std::log(theirs[k] / ours[k]));
  if (logs.empty()) return {0, 0, std::numeric_limits<double>::infinity()};
  double mean = 0;
  for (const double x : logs) mean += x / static_cast<double>(logs.size());
  if (logs.size() < 2) return {0, std::exp(mean), std::numeric_limits<double>::infinity()};
  double squares = 0;
  for (const double x : logs) squares += (x - mean) * (x - mean);
  const auto count = static_cast<double>(logs.size());
  const double half = student95(logs.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return {std::exp(mean - half), std::exp(mean), std::exp(mean + half)};
}

}  // namespace autoccl::bench
