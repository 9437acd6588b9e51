// Fits the performance model (model/cost.h, equations 1-5) to measured configs of one subspace.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"
#include "model/cost.h"

namespace autoccl {

/// How a config's log time moves with the log of each parameter of its model: startUs0, startUs1,
/// peak0, peak1, perByte, perWorker; 0 for those that it does not depend on.
using CostSlopes = std::array<double, 6>;

struct CostPoint {
  Config config;
  double us = 0;
  double weight = 1;  // samples behind it
};

/// A fitted model and how far it is from the points.
struct CostFit {
  CostParameters parameters;
  /// The text of the paper has the phases follow one another, its equation 1 has them overlap:
  /// true: 1/beta = 1/beta0 + 1/beta1; false: the minimum. The minimum is taken unless
  /// the sum fits better by a fifth.
  bool serial = true;
  uint64_t bytes = 0;
  /// Root of the weighted mean square of (model - measured) / measured, per degree of freedom.
  double residual = 0;
  int points = 0;

  [[nodiscard]] double us(const Config& c) const;
  [[nodiscard]] CostSlopes slopes(const Config& c) const;
};

/// Least squares of the relative error. The serial form by trying every set of active parameters
/// (31 small systems, all parameters >= 0), the overlapped one by Levenberg's method from there and
/// from two starts that take one phase or the other for the limit; some 0.2 ms for 50 points. All
/// four, the serial one first; nothing for fewer than 3 points or where no set gives a usable
/// model.
[[nodiscard]] std::vector<CostFit> fitCostForms(uint64_t bytes, std::span<const CostPoint> points);

}  // namespace autoccl
