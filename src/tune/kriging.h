// Smooths what a model leaves unexplained: Gaussian process regression over grid indices.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tune/grid.h"

namespace autoccl {

/// Residuals of one subspace (log measured - log model) are taken for a smooth random function of
/// the grid indices: two points `length` indices apart share exp(-1/2) of their deviation. A
/// neighbour's samples thus tell about a point, most where the point itself has few. Source: Krige
/// (1951), Matheron, Economic Geology 58 (1963). fit: O(n^3) for n measured points (some 60 of
/// them: below 0.1 ms); mean O(n), sd O(n^2). Thread-compatible.
class Kriging {
 public:
  struct Observed {
    std::array<int, kAxes> at{};
    double residual = 0;
    double variance = 0;  // of the residual, from noise
  };
  /// `deviation` is that of the random function, in log units.
  void fit(std::span<const Observed> points, double deviation);

  [[nodiscard]] double mean(const std::array<int, kAxes>& at) const;
  [[nodiscard]] double sd(const std::array<int, kAxes>& at) const;
  [[nodiscard]] bool empty() const { return places_.empty(); }

 private:
  [[nodiscard]] double shared(const std::array<int, kAxes>& a,
                              const std::array<int, kAxes>& b) const;

  double deviation_ = 0;
  std::vector<std::array<int, kAxes>> places_;
  std::vector<double> weights_;  // (K + N)^-1 residuals
  std::vector<double> factor_;   // lower Cholesky factor of K + N, by rows
};

}  // namespace autoccl
