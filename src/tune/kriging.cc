#include "tune/kriging.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace autoccl {
namespace {

constexpr std::array<double, kAxes> kLength{2.5, 3.0, 3.5};  // indices: NC, NT, C
constexpr std::array kDeviations{0.02, 0.05, 0.12, 0.3};
constexpr std::array kStretches{0.7, 1.5};
constexpr std::array kUnevennesses{0.003, 0.01, 0.03};
// What is held likely before anything was measured, and what a factor e off costs. Of noise and
// unevenness the samples see little but the sum, so that the second is held more tightly.
constexpr double kUsualDeviation = 0.08, kDeviationWeight = 0.1;
constexpr double kUsualUnevenness = 0.008, kUnevennessWeight = 1;
constexpr double kParameterDeviation = 1.6;  // of a log parameter about the fitted one
constexpr double kJitter = 1e-7;
constexpr size_t kApart = 64;  // index steps from which on nothing is shared

double squared(double x) {
  return x * x;
}

double prior(double value, double usual, double weight) {
  return -weight * squared(std::log(value / usual));
}

using Alike = std::array<std::array<double, kApart>, kAxes>;

/// What is shared along each axis, by index steps, for each stretch.
const std::array<Alike, kStretches.size()>& alikes() {
  static const auto all = [] {
    std::array<Alike, kStretches.size()> made{};
    for (size_t s = 0; s < made.size(); ++s)
      for (size_t a = 0; a < kAxes; ++a)
        for (size_t d = 0; d < kApart; ++d)
          made[s][a][d] = std::exp(-squared(double(d) / (kLength[a] * kStretches[s])) / 2);
    return made;
  }();
  return all;
}

double alike(const Alike& by, const std::array<int, kAxes>& a, const std::array<int, kAxes>& b) {
  double product = 1;
  for (size_t i = 0; i < kAxes; ++i)
    product *= by[i][std::min(kApart - 1, size_t(std::abs(a[i] - b[i])))];
  return product;
}

double dot(const CostSlopes& a, const CostSlopes& b) {
  double sum = 0;
  for (size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

}  // namespace

double Kriging::shared(const Place& a, const Place& b) const {
  const double own = a.at == b.at ? squared(kUnevennesses[size_t(shape_.unevenness)]) : 0;
  return squared(kParameterDeviation) * dot(a.slopes, b.slopes) + own +
         squared(kDeviations[size_t(shape_.deviation)]) *
             alike(alikes()[size_t(shape_.stretch)], a.at, b.at);
}

Eigen::VectorXd Kriging::sharedWithAll(const Place& p) const {
  Eigen::VectorXd all(static_cast<Eigen::Index>(places_.size()));
  for (Eigen::Index i = 0; i < all.size(); ++i) all[i] = shared(p, places_[size_t(i)]);
  return all;
}

Kriging::Parts Kriging::partsOf(std::span<const Observed> points) const {
  const auto n = static_cast<Eigen::Index>(points.size());
  Parts parts{Eigen::MatrixXd(n, n), {}, Eigen::VectorXd(n), Eigen::VectorXd(n)};
  parts.alike.assign(kStretches.size(), Eigen::MatrixXd(n, n));
  for (Eigen::Index i = 0; i < n; ++i) {
    const Observed& a = points[size_t(i)];
    parts.noise[i] = a.variance + kJitter;
    parts.residuals[i] = a.residual;
    for (Eigen::Index j = 0; j <= i; ++j) {
      const Observed& b = points[size_t(j)];
      parts.slopes(i, j) = squared(kParameterDeviation) * dot(a.place.slopes, b.place.slopes);
      for (size_t s = 0; s < kStretches.size(); ++s)
        parts.alike[s](i, j) = alike(alikes()[s], a.place.at, b.place.at);
    }
  }
  return parts;
}

double Kriging::likelihood(const Parts& parts, const Shape& shape) {
  const double deviation = kDeviations[size_t(shape.deviation)],
               unevenness = kUnevennesses[size_t(shape.unevenness)];
  Eigen::MatrixXd k = parts.slopes + squared(deviation) * parts.alike[size_t(shape.stretch)];
  k.diagonal() += parts.noise;
  k.diagonal().array() += squared(unevenness);
  solver_.compute(k);
  weights_ = solver_.solve(parts.residuals);
  const double logDet = 2 * solver_.matrixLLT().diagonal().array().log().sum();
  return -0.5 * (parts.residuals.dot(weights_) + logDet) +
         prior(deviation, kUsualDeviation, kDeviationWeight) +
         prior(unevenness, kUsualUnevenness, kUnevennessWeight);
}

double Kriging::fit(std::span<const Observed> points) {
  places_.clear();
  for (const Observed& p : points) places_.push_back(p.place);
  const Parts parts = partsOf(points);
  double most = likelihood(parts, shape_);
  // Uphill one value at a time, from where the last fit ended.
  const std::array<std::pair<int Shape::*, int>, 3> kMoves{
      {{&Shape::deviation, int(kDeviations.size())},
       {&Shape::stretch, int(kStretches.size())},
       {&Shape::unevenness, int(kUnevennesses.size())}}};
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& [member, values] : kMoves)
      for (const int by : {-1, 1}) {
        Shape next = shape_;
        next.*member += by;
        if (next.*member < 0 || next.*member >= values) continue;
        if (const double l = likelihood(parts, next); l > most)
          most = l, shape_ = next, moved = true;
      }
  }
  most = likelihood(parts, shape_);
  slopeWeights_ = {};
  for (size_t i = 0; i < places_.size(); ++i)
    for (size_t j = 0; j < slopeWeights_.size(); ++j)
      slopeWeights_[j] += weights_[Eigen::Index(i)] * places_[i].slopes[j];
  return most;
}

double Kriging::mean(const Place& p) const {
  const Alike& by = alikes()[size_t(shape_.stretch)];
  double smooth = 0, own = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    const double weight = weights_[Eigen::Index(i)];
    smooth += weight * alike(by, p.at, places_[i].at);
    if (p.at == places_[i].at) own += weight;
  }
  return squared(kParameterDeviation) * dot(p.slopes, slopeWeights_) +
         squared(kDeviations[size_t(shape_.deviation)]) * smooth +
         squared(kUnevennesses[size_t(shape_.unevenness)]) * own;
}

double Kriging::sd(const Place& p) const {
  const Eigen::VectorXd v = solver_.matrixL().solve(sharedWithAll(p));
  return std::sqrt(std::max(shared(p, p) - v.squaredNorm(), 0.0));
}

Kriging::Look Kriging::look(std::vector<Place> places) const {
  Look look{std::move(places), {}, {}};
  const auto m = static_cast<Eigen::Index>(look.places.size());
  look.explained.resize(static_cast<Eigen::Index>(places_.size()), m);
  for (Eigen::Index j = 0; j < m; ++j)
    look.explained.col(j) = sharedWithAll(look.places[size_t(j)]);
  solver_.matrixL().solveInPlace(look.explained);
  for (Eigen::Index j = 0; j < m; ++j) {
    const Place& p = look.places[size_t(j)];
    look.sds.push_back(
        std::sqrt(std::max(shared(p, p) - look.explained.col(j).squaredNorm(), 0.0)));
  }
  return look;
}

Eigen::MatrixXd Kriging::jointFactor(const Look& look, std::span<const size_t> chosen) const {
  const auto m = static_cast<Eigen::Index>(chosen.size());
  Eigen::MatrixXd explained(look.explained.rows(), m), own(m, m);
  for (Eigen::Index j = 0; j < m; ++j) {
    explained.col(j) = look.explained.col(Eigen::Index(chosen[size_t(j)]));
    for (Eigen::Index i = j; i < m; ++i)
      own(i, j) = shared(look.places[chosen[size_t(i)]], look.places[chosen[size_t(j)]]);
  }
  own.triangularView<Eigen::Lower>() -= explained.transpose() * explained;
  own.diagonal().array() += kJitter;
  return own.llt().matrixL();
}

}  // namespace autoccl
