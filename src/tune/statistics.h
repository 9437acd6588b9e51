// Robust statistics of call times: medians, spreads, paired tests. Pure functions on microseconds.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace autoccl {

/// Median of the values; 0 for none. O(n), copies its input.
[[nodiscard]] double median(std::span<const double> values);
/// Spread about the median in units of a normal standard deviation (1.4826 x the median absolute
/// deviation); 0 for fewer than two values.
[[nodiscard]] double robustSd(std::span<const double> values);
/// Standard error of the median: 1.2533 x robustSd / sqrt(n). 0 for fewer than two values.
[[nodiscard]] double medianSe(std::span<const double> values);
/// Two-sided quantile of Student's t: P(|T| > t) = alpha. degrees >= 1. Within 1 % of the tables
/// from 3 degrees on (Hill's expansion about the normal quantile), exact for 1 and 2.
[[nodiscard]] double studentQuantile(double alpha, int degrees);

/// An estimate of log(a/b) from pairs, and how sure it is.
struct Interval {
  double mean = 0;
  double se = 0;
  double low = 0;
  double high = 0;
  int pairs = 0;
  [[nodiscard]] double halfWidth() const { return (high - low) / 2; }
};

/// The centre of paired log ratios with its interval at error alpha. Pairs further than 3 robust
/// deviations from the median are pulled in to that distance (Huber's winsorising), so that a
/// straggler in one call neither decides nor blurs the outcome. Fewer than 2 pairs: an infinite
/// interval.
[[nodiscard]] Interval pairedInterval(std::span<const double> logRatios, double alpha);

/// Half-width, at 95 %, of comparing a thing with itself: the first against the second half of each
/// block of one config's samples. In log units; 0 where no block has two samples.
[[nodiscard]] double selfHalfWidth(std::span<const std::vector<double>> blocks);

}  // namespace autoccl
