// What a search has measured: one effect per config, free of the drift between epochs.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "model/config.h"

namespace autoccl {

/// A two-way table of log times: sample = config's effect + epoch's effect + noise. Epochs are
/// short spans of equal length, numbered in time; those without samples are skipped, but the drift
/// over them counts. Their effects walk randomly and are estimated together with the
/// configs', so that configs measured at different times compare as if they had been measured side
/// by side. That is the paired test of many arms at once: it needs configs that recur. Samples
/// beyond 2.5 robust deviations weigh less (Huber), so a straggler decides nothing. Units: log
/// microseconds. Cost of settle(): 20 sweeps over all samples. Thread-compatible.
class Ledger {
 public:
  struct Estimate {
    double logUs = 0;
    double se = 0;    // of logUs, from the noise of one call; not below 0.2 %
    int samples = 0;  // usable ones
    bool failed = false;
  };

  /// Epochs ascend.
  void add(size_t epoch, const Config& c, double us);
  /// The config must not be used: its estimate stays failed.
  void fail(const Config& c);
  /// Solves the table anew; estimates are as of the last settle().
  void settle();

  [[nodiscard]] Estimate of(const Config& c) const;
  /// Standard deviation of one call about its config's and epoch's effects, in log units.
  [[nodiscard]] double noise() const { return noise_; }
  [[nodiscard]] size_t samples() const { return samples_.size(); }
  [[nodiscard]] const std::map<Config, Estimate>& rows() const { return rows_; }

 private:
  struct Seen {
    size_t epoch;  // its place in epochs_
    Estimate* row;
    double logUs;
    double weight;
  };
  void averageConfigs();
  void solveEpochs();
  void reweigh();

  std::map<Config, Estimate> rows_;  // nodes stay where they are
  std::vector<Seen> samples_;
  std::vector<size_t> epochs_;  // that have samples
  std::vector<double> drift_;   // by their place in epochs_
  double noise_ = 0.05;
};

}  // namespace autoccl
