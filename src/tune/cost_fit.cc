#include "tune/cost_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tune/statistics.h"

namespace autoccl {
namespace {

// The serial form is linear. Columns, all in us per byte:
//   a0/(NC*C)  a1/(NC*NT)  1/peak  perByte/peak*NC*C  perWorker/peak*NC*NT
// The overlapped form (costUs) is not: Levenberg's method from the serial solution, on the logs of
// its six parameters, held loosely (by kHold) to where they start since few points leave some free.
constexpr int kSerialColumns = 5;
constexpr int kOverlapParameters = 6;
constexpr double kRidge = 1e-6;
constexpr int kSteps = 12;
constexpr double kHold = 0.02;  // relative error that moving a parameter by a factor e is worth
constexpr double kAside = 1.5;  // log of a start cost, of the starts that favour one phase
constexpr double kPreferOverlapped = 0.8;  // noise alone makes the serial form win now and then
constexpr double kHuber = 2.5;
constexpr double kLeastSpread = 0.05;

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

CostParameters serialParameters(const Eigen::VectorXd& x) {
  constexpr double kNone = 1e-12;  // a peak nobody has reached
  const double inverse = std::max(x[2], kNone);
  CostParameters p;
  p.startUs0 = x[0];
  p.startUs1 = x[1];
  p.peak0 = 1 / inverse;
  p.peak1 = 1 / kNone;
  p.perByte = x[3] / inverse;
  p.perWorker = x[4] / inverse;
  return p;
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

CostFit fitSerial(uint64_t bytes, std::span<const CostPoint> points) {
  const auto n = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd a(n, kSerialColumns);
  Eigen::VectorXd target(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const CostPoint& p = points[size_t(i)];
    const double root = std::sqrt(p.weight), scale = root * double(bytes) / p.us;
    const double x = laneBytes(p.config), w = laneWorkers(p.config);
    a.row(i) << scale / x, scale / w, scale, scale * x, scale * w;
    target[i] = root;
  }
  const Solution s = solveNonNegative(std::move(a), target);
  CostFit fit;
  fit.bytes = bytes;
  if (s.x.size() == 0) return fit;
  fit.parameters = serialParameters(s.x);
  return finish(fit, points, kSerialColumns);
}

using Logs = Eigen::Matrix<double, kOverlapParameters, 1>;

CostParameters overlapParameters(const Logs& logs) {
  CostParameters p;
  p.startUs0 = std::exp(logs[0]);
  p.startUs1 = std::exp(logs[1]);
  p.peak0 = std::exp(-logs[2]);
  p.peak1 = std::exp(-logs[3]);
  p.perByte = std::exp(logs[4]);
  p.perWorker = std::exp(logs[5]);
  return p;
}

/// Where Levenberg's method begins: the serial solution with its peak shared by both phases, and
/// small values instead of zeros, so that a log exists.
Logs startLogs(const CostParameters& serial, std::span<const CostPoint> points) {
  double x = 0, w = 0;
  for (const CostPoint& p : points)
    x = std::max(x, laneBytes(p.config)), w = std::max(w, laneWorkers(p.config));
  const double inverse = std::max(1 / serial.peak0, 1e-9), small = 0.02;
  Logs logs;
  logs << std::log(std::max(serial.startUs0, small * inverse * x)),
      std::log(std::max(serial.startUs1, small * inverse * w)), std::log(inverse),
      std::log(inverse), std::log(std::max(serial.perByte, small / x)),
      std::log(std::max(serial.perWorker, small / w));
  return logs;
}

/// Of costUs: that of the slower phase.
CostSlopes overlapSlopes(const CostParameters& p, uint64_t bytes, const Config& c) {
  const double x = laneBytes(c), w = laneWorkers(c), m = double(bytes), whole = costUs(p, bytes, c);
  const double start0 = std::ceil(m / x) * p.startUs0, start1 = m / w * p.startUs1;
  const double byte = p.perByte * x, worker = p.perWorker * w, load = 1 + byte + worker;
  const bool first = start0 + m / p.peak0 * load >= start1 + m / p.peak1 * load;
  const double flow = m / (first ? p.peak0 : p.peak1) / whole;
  return {first ? start0 / whole : 0,
          first ? 0 : start1 / whole,
          first ? -flow * load : 0,
          first ? 0 : -flow * load,
          byte * flow,
          worker * flow};
}

Eigen::VectorXd logErrors(const Logs& logs, uint64_t bytes, std::span<const CostPoint> points) {
  const CostParameters parameters = overlapParameters(logs);
  Eigen::VectorXd errors(static_cast<Eigen::Index>(points.size()));
  for (Eigen::Index i = 0; i < errors.size(); ++i) {
    const CostPoint& p = points[size_t(i)];
    errors[i] = std::sqrt(p.weight) * std::log(costUs(parameters, bytes, p.config) / p.us);
  }
  return errors;
}

Eigen::MatrixXd errorSlopes(const Logs& logs, uint64_t bytes, std::span<const CostPoint> points) {
  const CostParameters parameters = overlapParameters(logs);
  Eigen::MatrixXd slope(static_cast<Eigen::Index>(points.size()), kOverlapParameters);
  for (Eigen::Index i = 0; i < slope.rows(); ++i) {
    const CostPoint& p = points[size_t(i)];
    const CostSlopes s = overlapSlopes(parameters, bytes, p.config);
    const double root = std::sqrt(p.weight);
    // The logs are of startUs0, startUs1, 1/peak0, 1/peak1, perByte, perWorker.
    slope.row(i) << s[0] * root, s[1] * root, -s[2] * root, -s[3] * root, s[4] * root, s[5] * root;
  }
  return slope;
}

CostFit fitOverlapped(uint64_t bytes, std::span<const CostPoint> points, const Logs& start) {
  Logs at = start;
  double damping = 1e-2;
  Eigen::VectorXd errors = logErrors(at, bytes, points);
  const auto cost = [&](const Eigen::VectorXd& e, const Logs& logs) {
    return e.squaredNorm() + kHold * kHold * (logs - start).squaredNorm();
  };
  for (int step = 0; step < kSteps; ++step) {
    const Eigen::MatrixXd slope = errorSlopes(at, bytes, points);
    Eigen::Matrix<double, kOverlapParameters, kOverlapParameters> gram = slope.transpose() * slope;
    gram.diagonal().array() += kHold * kHold;
    const Logs downhill = -slope.transpose() * errors - kHold * kHold * (at - start);
    gram.diagonal() *= 1 + damping;
    const Logs next = at + gram.ldlt().solve(downhill).cwiseMax(-1.0).cwiseMin(1.0);
    const Eigen::VectorXd nextErrors = logErrors(next, bytes, points);
    if (cost(nextErrors, next) < cost(errors, at)) {
      at = next;
      errors = nextErrors;
      damping = std::max(damping / 4, 1e-6);
    } else {
      damping *= 8;
    }
  }
  CostFit fit;
  fit.bytes = bytes;
  fit.serial = false;
  fit.parameters = overlapParameters(at);
  return finish(fit, points, kOverlapParameters);
}

/// The serial form and the overlapped one from three starts: with both phases alike, and with one
/// of them far from being the limit. Few points do not tell which phase limits where none was
/// measured.
std::vector<CostFit> fitForms(uint64_t bytes, std::span<const CostPoint> points) {
  const CostFit serial = fitSerial(bytes, points);
  if (serial.points == 0) return {};
  std::vector<CostFit> forms{serial};
  const Logs start = startLogs(serial.parameters, points);
  for (const double by : {0.0, kAside, -kAside}) {
    Logs from = start;
    from[0] -= by, from[2] -= by / 2, from[1] += by, from[3] += by / 2;
    forms.push_back(fitOverlapped(bytes, points, from));
  }
  return forms;
}

const CostFit& preferred(const std::vector<CostFit>& forms) {
  const auto overlapped =
      std::min_element(forms.begin() + 1, forms.end(),
                       [](const CostFit& a, const CostFit& b) { return a.residual < b.residual; });
  return kPreferOverlapped * overlapped->residual < forms[0].residual ? *overlapped : forms[0];
}

/// The points with Huber's weights, so that a straggler does not bend the model; empty where none
/// is far out.
std::vector<CostPoint> calm(const CostFit& fit, std::span<const CostPoint> points) {
  std::vector<double> away;
  for (const CostPoint& p : points) away.push_back(std::log(p.us / fit.us(p.config)));
  const double limit = kHuber * std::max(kLeastSpread, robustSd(away));
  std::vector<CostPoint> calmed(points.begin(), points.end());
  bool any = false;
  for (size_t i = 0; i < calmed.size(); ++i)
    if (std::abs(away[i]) > limit) calmed[i].weight *= limit / std::abs(away[i]), any = true;
  return any ? calmed : std::vector<CostPoint>{};
}

}  // namespace

double CostFit::us(const Config& c) const {
  if (!serial) return costUs(parameters, bytes, c);
  const double g = parameters.perByte * laneBytes(c) + parameters.perWorker * laneWorkers(c);
  return double(bytes) * (parameters.startUs0 / laneBytes(c) +
                          parameters.startUs1 / laneWorkers(c) + (1 + g) / parameters.peak0);
}

CostSlopes CostFit::slopes(const Config& c) const {
  if (!serial) return overlapSlopes(parameters, bytes, c);
  const CostParameters& p = parameters;
  const double x = laneBytes(c), w = laneWorkers(c), scale = double(bytes) / us(c),
               peak = scale / p.peak0;
  const double byte = p.perByte * x, worker = p.perWorker * w;
  return {
      scale * p.startUs0 / x, scale * p.startUs1 / w, -(1 + byte + worker) * peak, 0, byte * peak,
      worker * peak};
}

std::vector<CostFit> fitCostForms(uint64_t bytes, std::span<const CostPoint> points) {
  if (points.size() < 3 || bytes == 0) return {};
  std::vector<CostFit> forms = fitForms(bytes, points);
  if (forms.empty()) return forms;
  const std::vector<CostPoint> calmed = calm(preferred(forms), points);
  return calmed.empty() ? forms : fitForms(bytes, calmed);
}

}  // namespace autoccl
