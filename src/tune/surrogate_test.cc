#include "tune/surrogate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/surface.h"

namespace autoccl {
namespace {

/// One subspace of a model surface, of which every `step`-th point was measured.
struct Scene {
  Surface surface{{}};
  Grid grid{surface.space(), false};
  Surrogate surrogate;
  std::vector<Surrogate::Observed> observed;

  explicit Scene(size_t step, double noise) : surrogate(make()) {
    Chance chance(3);
    for (size_t i = 0; i < surrogate.configs().size(); i += step)
      observed.push_back({i, truth(i) + noise * chance.normal(), noise, 2});
    surrogate.fit(observed, noise);
  }
  [[nodiscard]] Surrogate make() const {
    std::vector<Config> configs;
    for (const Point& p : grid.points(3)) configs.push_back(grid.config(p));
    return {surface.space().task.bytes, grid.points(3), configs};
  }
  [[nodiscard]] double truth(size_t i) const {
    return std::log(surface.trueUs(surrogate.configs()[i]));
  }
};

TEST(Surrogate, KnowsOfPointsThatNobodyHasMeasured) {
  const Scene s(53, 0.02);
  double square = 0;
  int within = 0;
  const size_t n = s.surrogate.configs().size();
  for (size_t i = 0; i < n; ++i) {
    const double away = s.surrogate.mean(i) - s.truth(i);
    square += away * away / double(n);
    within += std::abs(away) < 3 * s.surrogate.sd(i);
  }
  EXPECT_LT(std::sqrt(square), 0.06);
  EXPECT_GT(within, int(n) * 9 / 10);
}

TEST(Surrogate, DrawsAreSpreadAsItsErrorsAre) {
  const Scene s(97, 0.05);
  Chance chance(5);
  constexpr size_t kDraws = 2000;
  const Eigen::MatrixXd truths = s.surrogate.draws(kDraws, chance);
  for (Eigen::Index i = 0; i < truths.rows(); i += 7) {
    const size_t point = s.surrogate.hopeful()[size_t(i)];
    const double mean = truths.row(i).mean();
    const double sd = std::sqrt((truths.row(i).array() - mean).square().mean());
    EXPECT_NEAR(mean, s.surrogate.mean(point), 5 * s.surrogate.sd(point) / std::sqrt(kDraws));
    EXPECT_NEAR(sd / s.surrogate.sd(point), 1, 0.15);
  }
}

TEST(Surrogate, HopesMostOfThePointsNearTheBest) {
  const Scene s(29, 0.02);
  double least = s.truth(0);
  for (size_t i = 0; i < s.surrogate.configs().size(); ++i) least = std::min(least, s.truth(i));
  double found = s.truth(s.surrogate.hopeful()[0]);
  for (size_t i = 0; i < 10; ++i) found = std::min(found, s.truth(s.surrogate.hopeful()[i]));
  EXPECT_LT(found, least + 0.05);
}

TEST(Surrogate, BelievesNothingOnTwoPoints) {
  Scene s(53, 0.02);
  s.observed.resize(2);
  s.surrogate.fit(s.observed, 0.02);
  EXPECT_FALSE(s.surrogate.fitted());
  EXPECT_FALSE(s.surrogate.model().has_value());
}

}  // namespace
}  // namespace autoccl
