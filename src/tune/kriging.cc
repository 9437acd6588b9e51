#include "tune/kriging.h"

#include <algorithm>
#include <cmath>

namespace autoccl {
namespace {

constexpr std::array<double, kAxes> kLength{2.5, 3.0, 3.5};  // indices: NC, NT, C
constexpr double kNugget = 0.003;                            // fixed unevenness of a single config

}  // namespace

double Kriging::shared(const std::array<int, kAxes>& a, const std::array<int, kAxes>& b) const {
  double distance = 0;
  for (size_t i = 0; i < kAxes; ++i) {
    const double d = double(a[i] - b[i]) / kLength[i];
    distance += d * d;
  }
  return deviation_ * deviation_ * std::exp(-distance / 2);
}

void Kriging::fit(std::span<const Observed> points, double deviation) {
  deviation_ = deviation;
  places_.clear();
  const size_t n = points.size();
  factor_.assign(n * n, 0);
  weights_.assign(n, 0);
  for (const Observed& p : points) places_.push_back(p.at);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = shared(places_[i], places_[j]);
      if (i == j) sum += points[i].variance + kNugget * kNugget;
      for (size_t k = 0; k < j; ++k) sum -= factor_[i * n + k] * factor_[j * n + k];
      factor_[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / factor_[j * n + j];
    }
  for (size_t i = 0; i < n; ++i) {
    double sum = points[i].residual;
    for (size_t k = 0; k < i; ++k) sum -= factor_[i * n + k] * weights_[k];
    weights_[i] = sum / factor_[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    double sum = weights_[i];
    for (size_t k = i + 1; k < n; ++k) sum -= factor_[k * n + i] * weights_[k];
    weights_[i] = sum / factor_[i * n + i];
  }
}

double Kriging::mean(const std::array<int, kAxes>& at) const {
  double sum = 0;
  for (size_t i = 0; i < places_.size(); ++i) sum += weights_[i] * shared(at, places_[i]);
  return sum;
}

double Kriging::sd(const std::array<int, kAxes>& at) const {
  const size_t n = places_.size();
  std::vector<double> v(n);
  double explained = 0;
  for (size_t i = 0; i < n; ++i) {
    double sum = shared(at, places_[i]);
    for (size_t k = 0; k < i; ++k) sum -= factor_[i * n + k] * v[k];
    v[i] = sum / factor_[i * n + i];
    explained += v[i] * v[i];
  }
  return std::sqrt(std::max(deviation_ * deviation_ - explained, 0.0));
}

}  // namespace autoccl
