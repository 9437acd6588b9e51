// The answer of the simple baselines: the config with the least median of one block.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "tune/policy.h"
#include "tune/statistics.h"

namespace autoccl {

/// Starts with the default, whose time is not known. put() takes the samples of a block; those of
/// one config count together. Thread-compatible.
class LeastMedian {
 public:
  explicit LeastMedian(const Config& fallback) : best_(fallback) {}

  void put(std::span<const Sample> samples) {
    std::map<Config, std::vector<double>> byConfig;
    for (const Sample& s : samples)
      if (!s.failed) byConfig[s.config].push_back(s.us);
    for (const auto& [config, us] : byConfig) keep(config, median(us));
  }
  void keep(const Config& c, double us) {
    if (us > 0 && (us_ == 0 || us < us_)) us_ = us, best_ = c;
  }
  [[nodiscard]] const Config& best() const { return best_; }

 private:
  Config best_;
  double us_ = 0;
};

}  // namespace autoccl
