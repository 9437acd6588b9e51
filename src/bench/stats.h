// Medians, percentiles and the interval of a ratio over interleaved rounds.
#pragma once

#include <span>
#include <vector>

namespace autoccl::bench {

/// The q-quantile (0..1) of the values, interpolated between neighbours; 0 of nothing.
[[nodiscard]] double quantile(std::span<const double> values, double q);
[[nodiscard]] inline double median(std::span<const double> values) {
  return quantile(values, 0.5);
}

/// 95 % interval of a ratio.
struct RatioInterval {
  double low = 0;
  double middle = 0;
  double high = 0;
};
/// theirs[k] / ours[k] were measured in the same round k. The Hodges-Lehmann estimate of the
/// logarithms and the interval of Wilcoxon's signed ranks: no assumption about the noise, and a
/// round that another program disturbed does not move them. Below six rounds no such interval
/// reaches 95 %: it is the widest that the rounds give; below two it is unbounded, 0 to infinity.
/// Source: Hollander, Wolfe, Nonparametric Statistical Methods, sections 3.2 and 3.3.
[[nodiscard]] RatioInterval ratioOverRounds(std::span<const double> theirs,
                                            std::span<const double> ours);

}  // namespace autoccl::bench
