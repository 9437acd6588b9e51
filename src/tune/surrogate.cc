#include "tune/surrogate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace autoccl {
namespace {

constexpr double kDoubtful = 0.15;     // above the model, of a single call
constexpr double kLeastWeight = 1e-3;  // of a form of the model
constexpr double kSmoothed = 1.5;      // log: points further above the least are the model's
constexpr double kSame = 0.005;        // log: forms that differ by less are one
constexpr size_t kLookedAt = 200;      // points whose error is worked out, those with least mean
constexpr size_t kHopeful = 80;
constexpr double kFloorErrors = 4;
constexpr double kOptimism = 2;  // errors by which a point may hope to be better than believed

}  // namespace

Surrogate::Surrogate(uint64_t bytes, std::vector<Point> points, std::vector<Config> configs)
    : bytes_(bytes), points_(std::move(points)), configs_(std::move(configs)) {}

Kriging::Place Surrogate::placeOf(const View& v, size_t point) const {
  return {points_[point].at, v.fit.slopes(configs_[point])};
}

void Surrogate::fit(std::span<const Observed> observed, double noise) {
  std::vector<CostPoint> measured;
  for (const Observed& o : observed)
    measured.push_back({configs_[o.point], std::exp(o.logUs), double(o.samples)});
  views_.clear();
  std::vector<double> evidence;
  for (const CostFit& form : fitCostForms(bytes_, measured)) {
    std::vector<double> model(points_.size());
    for (size_t i = 0; i < model.size(); ++i) model[i] = std::log(form.us(configs_[i]));
    if (alreadySaid(model)) continue;
    View& view = views_.emplace_back();
    view.fit = form;
    view.model = std::move(model);
    std::vector<Kriging::Observed> rest;
    for (const Observed& o : observed) {
      const double residual = o.logUs - std::log(form.us(configs_[o.point]));
      // One call far above the model may be a straggler: it says little.
      const bool doubtful = o.samples < 2 && residual > kDoubtful + 2 * noise;
      rest.push_back(
          {placeOf(view, o.point), residual, o.se * o.se + (doubtful ? residual * residual : 0)});
    }
    evidence.push_back(view.rest.fit(rest));
  }
  weigh(evidence);
  findHopeful();
}

/// Some form says the same wherever it matters.
bool Surrogate::alreadySaid(const std::vector<double>& model) const {
  const double limit = *std::min_element(model.begin(), model.end()) + kSmoothed;
  return std::any_of(views_.begin(), views_.end(), [&](const View& v) {
    for (size_t i = 0; i < model.size(); ++i)
      if (model[i] < limit && std::abs(model[i] - v.model[i]) > kSame) return false;
    return true;
  });
}

void Surrogate::weigh(const std::vector<double>& evidence) {
  if (views_.empty()) return;
  const double most = *std::max_element(evidence.begin(), evidence.end());
  for (size_t i = 0; i < views_.size(); ++i) views_[i].weight = std::exp(evidence[i] - most);
  std::erase_if(views_, [](const View& v) { return v.weight < kLeastWeight; });
  double sum = 0;
  for (const View& v : views_) sum += v.weight;
  means_.assign(points_.size(), 0);
  sds_.assign(points_.size(), -1);
  for (View& v : views_) {
    v.weight /= sum;
    v.means = v.model;
    const double limit = *std::min_element(v.model.begin(), v.model.end()) + kSmoothed;
    for (size_t i = 0; i < points_.size(); ++i) {
      if (v.model[i] < limit) v.means[i] += v.rest.mean(placeOf(v, i));
      means_[i] += v.weight * v.means[i];
    }
  }
}

double Surrogate::sd(size_t point) const {
  double& sd = sds_[point];
  if (sd >= 0) return sd;
  double variance = 0;
  for (const View& v : views_) variance += varianceIn(v, point, v.rest.sd(placeOf(v, point)));
  return sd = std::sqrt(variance);
}

void Surrogate::findHopeful() {
  hopeful_.clear();
  if (views_.empty()) return;
  std::vector<size_t> order(points_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto firstOf = [&](size_t most, auto value) {
    const size_t n = std::min(most, order.size());
    std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(n), order.end(),
                      [&](size_t a, size_t b) { return value(a) < value(b); });
    order.resize(n);
  };
  firstOf(kLookedAt, [&](size_t i) { return means_[i]; });
  std::vector<Kriging::Look> looks;
  for (const View& v : views_) {
    std::vector<Kriging::Place> places;
    for (const size_t i : order) places.push_back(placeOf(v, i));
    looks.push_back(v.rest.look(std::move(places)));
  }
  for (size_t k = 0; k < order.size(); ++k) {
    double variance = 0;
    for (size_t v = 0; v < views_.size(); ++v)
      variance += varianceIn(views_[v], order[k], looks[v].sds[k]);
    sds_[order[k]] = std::sqrt(variance);
  }
  const std::vector<size_t> looked = std::exchange(order, {});
  order.resize(looked.size());
  std::iota(order.begin(), order.end(), size_t{0});
  firstOf(kHopeful, [&](size_t k) { return means_[looked[k]] - kOptimism * sds_[looked[k]]; });
  for (const size_t k : order) hopeful_.push_back(looked[k]);
  for (size_t v = 0; v < views_.size(); ++v)
    views_[v].factor = views_[v].rest.jointFactor(looks[v], order);
}

/// A form's part in the variance of the mixture.
double Surrogate::varianceIn(const View& v, size_t point, double sd) const {
  const double aside = v.means[point] - means_[point];
  return v.weight * (sd * sd + aside * aside);
}

double Surrogate::floor() const {
  double least = std::numeric_limits<double>::infinity();
  for (const size_t i : hopeful_) least = std::min(least, means_[i] - kFloorErrors * sd(i));
  return least;
}

Eigen::MatrixXd Surrogate::draws(size_t count, Chance& chance) const {
  const auto n = static_cast<Eigen::Index>(hopeful_.size());
  Eigen::MatrixXd truths(n, static_cast<Eigen::Index>(count));
  Eigen::VectorXd z(n), mean(n);
  for (Eigen::Index d = 0; d < truths.cols(); ++d) {
    double left = chance.unit();
    size_t k = 0;
    while (k + 1 < views_.size() && left > views_[k].weight) left -= views_[k++].weight;
    for (double& x : z) x = chance.normal();
    for (Eigen::Index i = 0; i < n; ++i) mean[i] = views_[k].means[hopeful_[size_t(i)]];
    truths.col(d) = mean + views_[k].factor.triangularView<Eigen::Lower>() * z;
  }
  return truths;
}

std::optional<CostFit> Surrogate::model() const {
  if (views_.empty()) return std::nullopt;
  return std::max_element(views_.begin(), views_.end(),
                          [](const View& a, const View& b) { return a.weight < b.weight; })
      ->fit;
}

}  // namespace autoccl
