#include "tune/cost_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace autoccl {
namespace {

// Columns, all in us per byte:  a0/(NC*C)  a1/(NC*NT)  1/peak  p*NC*C  w*NC*NT  (1/peak of phase 1)
constexpr int kSerialColumns = 5;
constexpr int kOverlapColumns = 6;
constexpr double kRidge = 1e-6;
constexpr int kOverlapRounds = 4;
constexpr int kOverlapPoints = 8;

double lane(const Config& c) {
  return std::max(1.0, double(c.channels) * double(c.chunk));
}
double workers(const Config& c) {
  return std::max(1.0, double(c.channels) * double(c.threads));
}

struct Solution {
  Eigen::VectorXd x;
  double error = std::numeric_limits<double>::infinity();
};

/// min |A x - 1|, x >= 0. Columns are scaled to norm 1 first, so that one ridge suits all.
Solution solveNonNegative(Eigen::MatrixXd a, const Eigen::VectorXd& target) {
  const int n = static_cast<int>(a.cols());
  Eigen::VectorXd scale = a.colwise().norm();
  for (int j = 0; j < n; ++j)
    if (scale[j] > 0) a.col(j) /= scale[j];
  const Eigen::MatrixXd gram = a.transpose() * a;
  const Eigen::VectorXd right = a.transpose() * target;
  Solution best;
  for (int mask = 1; mask < (1 << n); ++mask) {
    std::vector<int> on;
    for (int j = 0; j < n; ++j)
      if ((mask >> j & 1) && scale[j] > 0) on.push_back(j);
    if (on.empty()) continue;
    Eigen::MatrixXd g = gram(on, on);
    g.diagonal().array() += kRidge;
    const Eigen::VectorXd part = g.ldlt().solve(right(on));
    if (part.minCoeff() < 0) continue;
    const double error =
        target.squaredNorm() - 2 * part.dot(right(on)) + part.dot(gram(on, on) * part);
    if (error >= best.error) continue;
    best.error = error;
    best.x = Eigen::VectorXd::Zero(n);
    for (size_t j = 0; j < on.size(); ++j) best.x[on[j]] = part[Eigen::Index(j)] / scale[on[j]];
  }
  return best;
}

CostParameters parametersOf(const Eigen::VectorXd& x, bool serial) {
  constexpr double kNone = 1e-12;  // a peak nobody has reached
  CostParameters p;
  const double inverse0 = std::max(x[2], kNone);
  const double inverse1 = serial ? kNone : std::max(x[5], kNone);
  p.startUs0 = x[0];
  p.startUs1 = x[1];
  p.peak0 = 1 / inverse0;
  p.peak1 = 1 / inverse1;
  const double shared = serial ? inverse0 : std::max(inverse0, inverse1);
  p.perByte = x[3] / shared;
  p.perWorker = x[4] / shared;
  return p;
}

/// Fills row i; phase -1: both (serial), 0 or 1: the one that decides.
void fillRow(Eigen::MatrixXd& a, Eigen::Index i, const Config& c, double scale, int phase) {
  if (phase != 1) a(i, 0) = scale / lane(c);
  if (phase != 0) a(i, 1) = scale / workers(c);
  a(i, phase == 1 ? 5 : 2) = scale;
  a(i, 3) = scale * lane(c);
  a(i, 4) = scale * workers(c);
}

CostFit finish(CostFit fit, std::span<const CostPoint> points, int columns) {
  double sum = 0, weight = 0;
  for (const CostPoint& p : points) {
    const double away = fit.us(p.config) / p.us - 1;
    sum += p.weight * away * away;
    weight += p.weight;
  }
  const double n = double(points.size());
  fit.residual = std::sqrt(sum / weight * n / std::max(1.0, n - columns));
  fit.points = static_cast<int>(points.size());
  return fit;
}

CostFit fitWith(uint64_t bytes, std::span<const CostPoint> points, const std::vector<int>& phases) {
  const bool serial = phases.empty();
  const int columns = serial ? kSerialColumns : kOverlapColumns;
  const auto n = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, columns);
  Eigen::VectorXd target(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const CostPoint& p = points[size_t(i)];
    const double root = std::sqrt(p.weight);
    fillRow(a, i, p.config, root * double(bytes) / p.us, serial ? -1 : phases[size_t(i)]);
    target[i] = root;
  }
  const Solution s = solveNonNegative(std::move(a), target);
  CostFit fit;
  fit.bytes = bytes;
  fit.serial = serial;
  if (s.x.size() == 0) return fit;
  fit.parameters = parametersOf(s.x, serial);
  return finish(fit, points, columns);
}

std::vector<int> phasesBy(const CostFit& fit, std::span<const CostPoint> points) {
  std::vector<int> phases;
  for (const CostPoint& p : points)
    phases.push_back(transportBandwidth(fit.parameters, p.config) <=
                             workerBandwidth(fit.parameters, p.config)
                         ? 0
                         : 1);
  return phases;
}

}  // namespace

double CostFit::us(const Config& c) const {
  if (!serial) return costUs(parameters, bytes, c);
  const double g = parameters.perByte * lane(c) + parameters.perWorker * workers(c);
  return double(bytes) * (parameters.startUs0 / lane(c) + parameters.startUs1 / workers(c) +
                          (1 + g) / parameters.peak0);
}

std::optional<CostFit> fitCost(uint64_t bytes, std::span<const CostPoint> points) {
  if (points.size() < 3 || bytes == 0) return std::nullopt;
  CostFit best = fitWith(bytes, points, {});
  if (best.points == 0) return std::nullopt;
  if (points.size() < kOverlapPoints) return best;
  CostFit overlap = best;
  for (int round = 0; round < kOverlapRounds; ++round) {
    CostFit next = fitWith(bytes, points, phasesBy(overlap, points));
    if (next.points == 0) break;
    overlap = next;
    if (overlap.residual < best.residual) best = overlap;
  }
  return best;
}

}  // namespace autoccl
