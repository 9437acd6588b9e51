#include "tune/change_point.h"

#include <algorithm>
#include <cmath>

#include "tune/statistics.h"

namespace autoccl {
namespace {

constexpr double kLeastSlack = 0.08;
constexpr double kLeastLimit = 0.6;
constexpr double kLimitDeviations = 8;
constexpr double kFarthest = 1.0;  // a block counts at most this much

}  // namespace

bool ChangePoint::put(double us) {
  if (us <= 0) return false;
  block_.push_back(std::log(us));
  if (block_.size() < kBlock) return false;
  const double value = median(block_);
  block_.clear();
  if (!armed()) {
    blocks_.push_back(value);
    if (armed()) arm();
    return false;
  }
  const double away = std::clamp(value - reference_, -kFarthest, kFarthest);
  up_ = std::max(0.0, up_ + away - slack_);
  down_ = std::max(0.0, down_ - away - slack_);
  return std::max(up_, down_) > limit_;
}

void ChangePoint::arm() {
  reference_ = median(blocks_);
  const double deviation = robustSd(blocks_);
  slack_ = std::max(kLeastSlack, deviation);
  limit_ = std::max(kLeastLimit, kLimitDeviations * deviation);
}

void ChangePoint::reset() {
  *this = ChangePoint();
}

}  // namespace autoccl
