// A simulated engine: a space whose true times are known, and the noise of measuring them.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "model/config.h"
#include "model/cost.h"
#include "model/space.h"

namespace autoccl {

/// True times by equations 1-5 with parameters of its own in every subspace, times what the
/// equations leave out: a slow wave along each axis and a fixed unevenness of each config. Drawn
/// from a seed; the same seed gives the same surface. Immutable, thread-safe to read.
class Surface {
 public:
  struct Options {
    uint64_t seed = 1;
    bool flat = false;          // every config takes the same time: nothing can be won
    double unevenness = 0.005;  // standard deviation of the fixed part per config
    double misfit = 0.02;       // amplitude of each of three slow waves that no equation knows
  };
  explicit Surface(const Options& options);

  [[nodiscard]] const Space& space() const { return space_; }
  /// True microseconds without noise.
  [[nodiscard]] double trueUs(const Config& c) const;
  /// Least true time over all valid configs (the default included), by looking at all of them.
  [[nodiscard]] double oracleUs() const { return oracleUs_; }

 private:
  void drawSpace(std::mt19937_64& chance);
  void drawParameters(std::mt19937_64& chance);
  [[nodiscard]] size_t subspaceOf(const Config& c) const;

  Options options_;
  Space space_;
  std::vector<CostParameters> parameters_;    // by subspace
  std::vector<std::array<double, 3>> waves_;  // phases, by subspace
  double oracleUs_ = 0;
};

/// What a measured call adds to the true time: log-normal noise, a slow swing and a random walk
/// shared by all configs, and stragglers. `rise` makes all calls from riseAt on slower by that
/// factor.
class Noise {
 public:
  struct Options {
    uint64_t seed = 1;
    double sd = 0.05;
    double swing = 0;            // amplitude of the swing, as a share
    double swingCalls = 700;     // its period
    double walk = 0;             // deviation per call of the walk, as a share
    double stragglers = 0;       // share of calls hit
    double stragglerFactor = 4;  // up to this
    uint64_t riseAt = UINT64_MAX;
    double rise = 1;
  };
  explicit Noise(const Options& options) : options_(options), chance_(options.seed) {}
  /// The time measured for a call of `trueUs`; calls come in order.
  [[nodiscard]] double measure(double trueUs);

 private:
  Options options_;
  std::mt19937_64 chance_;
  uint64_t call_ = 0;
  double walked_ = 0;
};

}  // namespace autoccl
