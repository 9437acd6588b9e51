// What a subspace's samples say about all of its points: model forms, weighed, and what they leave
// unexplained.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tune/chance.h"
#include "tune/cost_fit.h"
#include "tune/grid.h"
#include "tune/kriging.h"

namespace autoccl {

/// A belief about the log time of every point of one subspace. Several fits of the performance
/// model are kept, each with its smoothed residuals, and weighed by how likely they make the
/// samples: with few points they agree where was measured and differ elsewhere, which is what a
/// search has to know. Points are named by their place in the list given. Thread-compatible. fit:
/// some 1 ms for 60 measured points and 2000 in all; sd: O(n^2), once per point and fit.
class Surrogate {
 public:
  Surrogate(uint64_t bytes, std::vector<Point> points, std::vector<Config> configs);

  struct Observed {
    size_t point = 0;
    double logUs = 0;
    double se = 0;  // of logUs, from noise
    int samples = 0;
  };
  /// `noise` is the deviation of one call.
  void fit(std::span<const Observed> observed, double noise);
  [[nodiscard]] bool fitted() const { return !views_.empty(); }

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  [[nodiscard]] const std::vector<Config>& configs() const { return configs_; }
  [[nodiscard]] double mean(size_t point) const { return means_[point]; }
  [[nodiscard]] double sd(size_t point) const;
  /// The points that may be the fastest, most hopeful first.
  [[nodiscard]] const std::vector<size_t>& hopeful() const { return hopeful_; }
  /// What no point of the subspace can reasonably be below, log.
  [[nodiscard]] double floor() const;
  /// `count` truths that may be: a column each, a row for each of hopeful().
  [[nodiscard]] Eigen::MatrixXd draws(size_t count, Chance& chance) const;
  /// The likelier form of the performance model.
  [[nodiscard]] std::optional<CostFit> model() const;

 private:
  struct View {
    CostFit fit;
    Kriging rest;
    double weight = 0;
    std::vector<double> model;  // log time of every point by the fit alone
    std::vector<double> means;  // with the rest
    Eigen::MatrixXd factor;     // of the hopeful points' covariance
  };
  [[nodiscard]] Kriging::Place placeOf(const View& v, size_t point) const;
  [[nodiscard]] bool alreadySaid(const std::vector<double>& model) const;
  void weigh(const std::vector<double>& evidence);
  [[nodiscard]] double varianceIn(const View& v, size_t point, double sd) const;
  void findHopeful();

  uint64_t bytes_;
  std::vector<Point> points_;
  std::vector<Config> configs_;
  std::vector<View> views_;
  std::vector<double> means_;
  mutable std::vector<double> sds_;  // negative: not worked out yet
  std::vector<size_t> hopeful_;
};

}  // namespace autoccl
