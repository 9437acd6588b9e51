#include "tune/round.h"

#include <algorithm>
#include <utility>

namespace autoccl {

Round::Round(std::vector<Trial> trials) : trials_(std::move(trials)) {
  for (const Trial& t : trials_) {
    starts_.push_back(calls_);
    calls_ += static_cast<uint64_t>(t.calls);
  }
  byCall_.resize(calls_);
  have_.resize(calls_);
}

void Round::begin(uint64_t fromCall, uint64_t version) {
  fromCall_ = fromCall;
  version_ = version;
  begun_ = true;
}

size_t Round::trialOf(uint64_t callIndex) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), callIndex - fromCall_);
  return static_cast<size_t>(after - starts_.begin()) - 1;
}

std::span<const Sample> Round::of(size_t trial) const {
  return {byCall_.data() + starts_[trial], static_cast<size_t>(trials_[trial].calls)};
}

void Round::put(const Sample& sample) {
  const size_t at = sample.callIndex - fromCall_;
  if (have_[at]) return;
  have_[at] = true;
  byCall_[at] = sample;
  ++told_;
}

void Round::passed(uint64_t callIndex) {
  if (begun_ && callIndex >= fromCall_ + calls_)
    beyond_ = std::max(beyond_, callIndex - (fromCall_ + calls_) + 1);
}

bool Round::over() const {
  return begun_ && (told_ == calls_ || beyond_ >= kPatience);
}

std::vector<double> Round::times(size_t trial) const {
  std::vector<double> us;
  const auto samples = of(trial);
  for (size_t i = 0; i < samples.size(); ++i)
    if (have_[starts_[trial] + i] && !samples[i].failed) us.push_back(samples[i].us);
  return us;
}

bool Round::anyFailed(size_t trial) const {
  const auto samples = of(trial);
  return std::any_of(samples.begin(), samples.end(), [](const Sample& s) { return s.failed; });
}

std::vector<Sample> Round::samples() const {
  std::vector<Sample> all;
  for (size_t i = 0; i < byCall_.size(); ++i)
    if (have_[i]) all.push_back(byCall_[i]);
  return all;
}

}  // namespace autoccl
