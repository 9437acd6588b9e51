#include "bench/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace autoccl::bench {
namespace {

constexpr double kTail = 0.025;
constexpr size_t kExactUpTo = 40;  // rounds; the normal approximation is good long before

/// How many of the smallest (and largest) pairwise means lie outside the 95 % interval of n values:
/// the largest w with P(W <= w) <= kTail for the signed-rank sum W, 0 where there is none.
size_t meansOutside(size_t n) {
  if (n > kExactUpTo) {
    const auto count = static_cast<double>(n);
    const double mean = count * (count + 1) / 4;
    const double deviation = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
    return static_cast<size_t>(std::max(0.0, mean - 1.96 * deviation));
  }
  // ways[w]: subsets of the ranks 1..n with the sum w.
  std::vector<double> ways(n * (n + 1) / 2 + 1, 0);
  ways[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank)
    for (size_t w = ways.size() - 1; w >= rank; --w) ways[w] += ways[w - rank];
  const double all = std::ldexp(1.0, static_cast<int>(n));
  double below = 0;
  size_t next = 0;
  while (next < ways.size() && below + ways[next] <= kTail * all) below += ways[next++];
  return next == 0 ? 0 : next - 1;
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
  if (logs.size() < 2) return {0, std::exp(logs[0]), std::numeric_limits<double>::infinity()};
  std::vector<double> means;
  for (size_t i = 0; i < logs.size(); ++i)
    for (size_t j = i; j < logs.size(); ++j) means.push_back((logs[i] + logs[j]) / 2);
  std::sort(means.begin(), means.end());
  const size_t outside = std::min(meansOutside(logs.size()), (means.size() - 1) / 2);
  return {std::exp(means[outside]), std::exp(median(means)),
          std::exp(means[means.size() - 1 - outside])};
}

}  // namespace autoccl::bench
