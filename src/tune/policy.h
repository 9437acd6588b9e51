// A search policy: ask for trials, tell their samples, look at the best.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "model/space.h"
#include "tune/cost_fit.h"

namespace autoccl {

/// A config for a block of `calls` consecutive calls.
struct Trial {
  Config config;
  int calls = 1;
  friend bool operator==(const Trial&, const Trial&) = default;
};

/// One measured call. `us` is microseconds of the clock that the caller chose (kernel, stream or
/// step time; never mixed inside one policy). A failed sample (wrong config in effect, stop <=
/// start, error) has `failed` set and us = 0. callIndex counts whatever `us` is the time of, those
/// between that were not asked for too: it says how long ago the last sample was.
struct Sample {
  Config config;
  double us = 0;
  uint64_t callIndex = 0;
  bool failed = false;
  bool asked = true;  // false: of the config in service, between rounds; it cost nothing
};

struct PolicyOptions {
  uint64_t seed = 1;
  int callsPerTrial = 2;       // block length
  int maxCalls = 400;          // measured calls the search may use
  double minGain = 0.01;       // smallest gain worth a change
  bool deterministic = false;  // only configs of the default's numerical class
  /// Tried first, never trusted: the profile's choice, winners of neighbouring sizes. Those that
  /// are not in the space are passed over.
  std::vector<Config> starts;
};

/// Which config next? Pure: no clock, no thread, no I/O; chance comes from the seed.
/// Protocol: ask() returns the next block of trials, in order; after they ran, tell() takes their
/// samples (in call order; some may be missing); repeat until done(). best() is valid at any time
/// and starts as the space's default. Thread-compatible.
class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::vector<Trial> ask() = 0;
  virtual void tell(std::span<const Sample> samples) = 0;
  [[nodiscard]] virtual Config best() const = 0;
  [[nodiscard]] virtual bool done() const = 0;
  /// It takes samples that it has not asked for too, which show how the weather was between rounds.
  [[nodiscard]] virtual bool wantsServed() const { return false; }
  /// A word for reports: what the trials of the last ask() are for.
  [[nodiscard]] virtual std::string_view phase() const { return "search"; }
  /// The performance model of best()'s subspace, where the policy has fitted one.
  [[nodiscard]] virtual std::optional<CostFit> model() const { return std::nullopt; }
};

/// The policies by name: "subspacerace" (the default), "paper", "artifact", "exhaustive", "random",
/// "anneal". One line each in policy_table.cc. Throws Error for an unknown name, listing the known
/// ones.
[[nodiscard]] std::unique_ptr<Policy> makePolicy(std::string_view name, const Space& space,
                                                 const PolicyOptions& options);
[[nodiscard]] std::vector<std::string_view> policyNames();

}  // namespace autoccl
