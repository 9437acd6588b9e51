// Runs a policy, or the whole tuner, on a model surface under noise. Deterministic by seed.
#pragma once

#include <cstdint>
#include <string>

#include "model/surface.h"

namespace autoccl {

/// A search has reached its goal when its answer has this share of the oracle's bandwidth.
inline constexpr double kGoal = 0.95;

/// Why a search has missed the goal: the first of these that holds.
enum class Loss : uint8_t {
  kNone,      // it has not
  kRefused,   // a candidate good enough was measured against the default and not accepted
  kSubspace,  // nothing in the answer's subspace is good enough
  kUntried,   // its subspace has good enough configs, none of which was tried
  kPicked     // one was tried, another was taken for better
};
inline constexpr int kLosses = 5;

/// One search on one surface.
struct Searched {
  double ofOracle = 0;     // bandwidth of the config served at the end / that of the best of all
  int calls = 0;           // measured calls: asked for by the search (and its confirmation)
  uint64_t wallCalls = 0;  // tuner: all calls until it had converged
  bool claims = false;     // it says that something is faster than the default
  double lostShare = 0;    // tuner: time lost on trials / communication time until it had converged
  Loss loss = Loss::kNone;
};

/// The noise of a bench run: log-normal of `sd`, a swing of 10 % over 700 calls, a random walk of
/// 0.1 % a call, and 2 % stragglers of 1.5 to 4 times.
[[nodiscard]] Noise::Options benchNoise(uint64_t seed, double sd);

/// The policy alone: its answer when it ends or has used maxCalls.
[[nodiscard]] Searched runPolicy(const std::string& policy, const Surface& surface, uint64_t seed,
                                 double sd, int maxCalls);

/// The tuner as it runs in a job: warm-up, search, confirmation, budget, plans agreed a few calls
/// ahead. Ends when it has converged or after `mostCalls` calls of the task.
[[nodiscard]] Searched runTuner(const Surface& surface, uint64_t seed, double sd,
                                uint64_t mostCalls);

}  // namespace autoccl
