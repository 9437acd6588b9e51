#include "tune/kriging.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tune/chance.h"

namespace autoccl {
namespace {

/// A wave along NC and C of 10 %, measured at every third place with 2 % noise.
struct Wave {
  std::vector<Kriging::Place> places;
  Kriging kriging;

  Wave() {
    Chance chance(7);
    std::vector<Kriging::Observed> observed;
    for (int nc = 0; nc < 8; ++nc)
      for (int c = 0; c < 12; ++c) {
        places.push_back({{nc, 1, c}, {}});
        if (places.size() % 3 == 0)
          observed.push_back(
              {places.back(), truth(places.back()) + 0.02 * chance.normal(), 0.02 * 0.02});
      }
    kriging.fit(observed);
  }
  [[nodiscard]] static double truth(const Kriging::Place& p) {
    return 0.1 * std::sin(0.5 * p.at[0]) * std::cos(0.4 * p.at[2]);
  }
};

TEST(Kriging, TellsOfPlacesBetweenTheMeasured) {
  const Wave w;
  int within = 0;
  for (const auto& p : w.places) {
    EXPECT_NEAR(w.kriging.mean(p), Wave::truth(p), 0.06);
    within += std::abs(w.kriging.mean(p) - Wave::truth(p)) < 3 * w.kriging.sd(p);
  }
  EXPECT_GE(within, int(w.places.size()) - 2);
}

TEST(Kriging, LookingAtManyPlacesAtOnceSaysTheSameAsOneByOne) {
  const Wave w;
  const Kriging::Look look = w.kriging.look(w.places);
  for (size_t i = 0; i < w.places.size(); ++i)
    EXPECT_NEAR(look.sds[i], w.kriging.sd(w.places[i]), 1e-9);
}

TEST(Kriging, TheFactorOfTheChosenPlacesHoldsTheirErrorsAndWhatTheyShare) {
  const Wave w;
  const Kriging::Look look = w.kriging.look(w.places);
  const std::vector<size_t> chosen{40, 3, 41, 90};
  const Eigen::MatrixXd factor = w.kriging.jointFactor(look, chosen);
  const Eigen::MatrixXd lower = factor.triangularView<Eigen::Lower>();
  const Eigen::MatrixXd covariance = lower * lower.transpose();
  for (size_t k = 0; k < chosen.size(); ++k)
    EXPECT_NEAR(std::sqrt(covariance(Eigen::Index(k), Eigen::Index(k))), look.sds[chosen[k]], 1e-4);
  EXPECT_GT(covariance(0, 2), std::abs(covariance(0, 3)));  // neighbours, and places far apart
}

TEST(Chance, NormalNumbersHaveMeanZeroAndDeviationOneAndDoNotFollowOneAnother) {
  Chance chance(11);
  constexpr int kCount = 20000;
  double sum = 0, square = 0, product = 0, before = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = chance.normal();
    sum += x, square += x * x, product += x * before;
    before = x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.03);
  EXPECT_NEAR(square / kCount, 1, 0.04);
  EXPECT_NEAR(product / kCount, 0, 0.03);
}

}  // namespace
}  // namespace autoccl
