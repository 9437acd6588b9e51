// What a search may cost, on surfaces of all kinds.
#include "tune/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "model/surface.h"
#include "tune/tuner.h"

namespace autoccl {
namespace {

constexpr uint64_t kAhead = 6;  // calls between a proposal and the first one that it governs

double slowestUs(const Surface& surface) {
  const Space& space = surface.space();
  double most = 0;
  for (const Subspace& s : space.subspaces)
    for (size_t i = 0; i < s.channels.size(); ++i)
      for (size_t j = 0; j < s.threads.size(); ++j)
        for (size_t k = 0; k < s.chunks.size(); ++k)
          if (const Config c = s.at(i, j, k); space.valid(c))
            most = std::max(most, surface.trueUs(c));
  return most;
}

struct Spending {
  double mostOverdrawnUs = 0;  // beyond the opening credit and the flow, at the worst call
  uint64_t trials = 0;
};

/// The first `calls` calls of a task; losses are counted here, from true times, call by call.
Spending spend(const Surface& surface, const TunerOptions& options, uint64_t calls) {
  Tuner tuner(options, [&](const Task&) { return surface.space(); });
  const Task& task = surface.space().task;
  const Config& fallback = surface.space().fallback;
  const double base = surface.trueUs(fallback);
  std::map<uint64_t, Config> table{{0, fallback}};
  tuner.seen(task, nullptr, 1);
  Spending s;
  double lost = 0, communicated = 0;
  uint64_t version = 0;
  int64_t nowNs = 1;
  for (uint64_t call = 0; call < calls; ++call) {
    const Config c = std::prev(table.upper_bound(call))->second;
    const double us = surface.trueUs(c);
    nowNs += int64_t(us * 1e3);
    communicated += us;
    lost += std::max(0.0, us - base);
    s.trials += c != fallback;
    const double budget = options.openingCreditCalls * base + options.budgetShare * communicated;
    s.mostOverdrawnUs = std::max(s.mostOverdrawnUs, lost - budget);
    tuner.tell({{keyOf(task), call, c, us, false, nowNs}});
    const auto plans = tuner.nextPlans(nowNs);
    if (plans.empty()) continue;
    const uint64_t from = call + kAhead;
    for (const auto& e : plans[0].entries) table[from + e.offset] = e.config;
    tuner.committed(++version, {from});
  }
  return s;
}

TEST(TunerBudget, IsOverdrawnByNoMoreThanOneCallOfTheSlowestConfig) {
  for (const char* policy : {"random", "subspacerace"}) {
    const bool cheap = std::string(policy) == "random";
    uint64_t trials = 0;
    for (uint64_t seed = 1; seed <= (cheap ? 1000u : 10u); ++seed) {
      Surface::Options options;
      options.seed = seed;
      const Surface surface(options);
      TunerOptions tuning;
      tuning.policy = policy;
      tuning.search.seed = seed;
      const Spending s = spend(surface, tuning, 600);
      EXPECT_LE(s.mostOverdrawnUs, slowestUs(surface)) << policy << ", surface " << seed;
      trials += s.trials;
    }
    EXPECT_GT(trials, cheap ? 20000u : 200u);
  }
}

}  // namespace
}  // namespace autoccl
