// Measures contenders side by side: all of them in every round, one at a time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/group.h"

namespace autoccl::bench {

/// What is measured against the others: a group, with a kind of buffer and a config.
struct Contender {
  std::string who;
  Group* group = nullptr;
  bool registered = false;
  std::string config;
  bool sleepyBarrier = false;
};

/// What all contenders do, and how often.
struct Exercise {
  Collective collective = Collective::kAllReduce;
  uint64_t bytes = 0;
  LoadKind load = LoadKind::kNone;
  bool check = false;
  int rounds = 7;
  double roundMs = 25;  // of calls, for one contender in one round
};

/// The measurements of one contender. `rounds[k]` is the median of its calls in round k.
struct Series {
  std::vector<double> us;
  std::vector<double> rounds;
  uint64_t wrong = 0;
  double loadGflops = 0;  // mean over the rounds
  std::string config;     // in effect
  std::string error;      // it cannot do this, died or hung; the rest is of no use then
};

/// Round k begins with contender k mod n, so that none is always first. A contender that fails sits
/// out the rest; the others go on.
[[nodiscard]] std::vector<Series> measureInterleaved(const Exercise&, std::span<const Contender>);

}  // namespace autoccl::bench
