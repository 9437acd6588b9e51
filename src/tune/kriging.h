// Smooths what a model leaves unexplained: Gaussian process regression over grid indices.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tune/cost_fit.h"
#include "tune/grid.h"

namespace autoccl {

/// Residuals of one subspace (log measured - log model) are taken for the sum of what wrong model
/// parameters make (each log parameter may be off), of a smooth random function of the
/// grid indices, and of a fixed unevenness of each single config. A neighbour's samples thus tell
/// about a point, most where the point itself has few. How large and how long the waves are and how
/// uneven the configs is chosen by marginal likelihood from a small set. Sources: Krige (1951),
/// Matheron, Economic Geology 58 (1963); Rasmussen & Williams, Gaussian Processes (2006), 2.7, 5.4.
/// Cost: fit O(n^3) for n measured points, some ten times (60 points: 0.3 ms); mean O(n), sd
/// O(n^2). Thread-compatible.
class Kriging {
 public:
  struct Place {
    std::array<int, kAxes> at{};
    CostSlopes slopes{};
  };
  struct Observed {
    Place place;
    double residual = 0;
    double variance = 0;  // of the residual, from noise
  };
  /// Returns the log of the marginal likelihood.
  double fit(std::span<const Observed> points);

  [[nodiscard]] double mean(const Place& p) const;
  [[nodiscard]] double sd(const Place& p) const;
  /// The same for many places at once, which is cheaper.
  struct Look {
    std::vector<Place> places;
    Eigen::MatrixXd explained;  // a column each: its square is what samples took off the variance
    std::vector<double> sds;
  };
  [[nodiscard]] Look look(std::vector<Place> places) const;
  /// Lower Cholesky factor of the covariance of the places looked at that are `chosen`.
  [[nodiscard]] Eigen::MatrixXd jointFactor(const Look& look, std::span<const size_t> chosen) const;

 private:
  /// Indices into the lists of allowed values.
  struct Shape {
    int deviation = 1, stretch = 1, unevenness = 1;
  };
  /// The parts of the covariance of the measured points that no shape changes.
  struct Parts {
    Eigen::MatrixXd slopes;
    std::vector<Eigen::MatrixXd> alike;  // by stretch
    Eigen::VectorXd noise, residuals;
  };
  [[nodiscard]] Parts partsOf(std::span<const Observed> points) const;
  [[nodiscard]] double likelihood(const Parts& parts, const Shape& shape);
  [[nodiscard]] double shared(const Place& a, const Place& b) const;
  [[nodiscard]] Eigen::VectorXd sharedWithAll(const Place& p) const;

  Shape shape_;
  std::vector<Place> places_;
  Eigen::VectorXd weights_;             // (K + N)^-1 residuals
  CostSlopes slopeWeights_{};           // what they make of the slopes
  Eigen::LLT<Eigen::MatrixXd> solver_;  // of K + N
};

}  // namespace autoccl
