#include "simulate.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tune/policy.h"
#include "tune/tuner.h"

namespace autoccl {
namespace {

constexpr uint64_t kAgreementCalls = 6;  // between a proposal and the first call it governs
constexpr int64_t kFirstNs = 1'000'000'000;

}  // namespace

Noise::Options benchNoise(uint64_t seed, double sd) {
  Noise::Options o;
  o.seed = seed * 7919 + 1;
  o.sd = sd;
  o.swing = 0.1;
  o.walk = 0.001;
  o.stragglers = 0.02;
  return o;
}

Searched runPolicy(const std::string& policy, const Surface& surface, uint64_t seed, double sd,
                   int maxCalls) {
  PolicyOptions options;
  options.seed = seed;
  options.maxCalls = maxCalls;
  const auto search = makePolicy(policy, surface.space(), options);
  Noise noise(benchNoise(seed, sd));
  Searched result;
  while (!search->done() && result.calls < maxCalls) {
    std::vector<Sample> samples;
    for (const Trial& t : search->ask())
      for (int i = 0; i < t.calls && result.calls < maxCalls; ++i, ++result.calls)
        samples.push_back(
            {t.config, noise.measure(surface.trueUs(t.config)), uint64_t(result.calls), false});
    search->tell(samples);
  }
  result.ofOracle = surface.oracleUs() / surface.trueUs(search->best());
  result.claims = search->best() != surface.space().fallback;
  return result;
}

Searched runTuner(const Surface& surface, uint64_t seed, double sd, uint64_t mostCalls) {
  TunerOptions options;
  options.search.seed = seed;
  Tuner tuner(options, [&](const Task&) { return surface.space(); });
  Noise noise(benchNoise(seed, sd));
  const Task& task = surface.space().task;
  int64_t nowNs = kFirstNs;
  tuner.seen(task, nullptr, nowNs);
  std::map<uint64_t, Config> table{{0, surface.space().fallback}};
  uint64_t call = 0, version = 0;
  for (; call < mostCalls; ++call) {
    const Config c = std::prev(table.upper_bound(call))->second;
    const double us = noise.measure(surface.trueUs(c));
    nowNs += int64_t(us * 1e3);
    tuner.tell({{keyOf(task), call, c, us, false, nowNs}});
    const auto plans = tuner.nextPlans(nowNs);
    if (!plans.empty()) {
      const uint64_t from = call + kAgreementCalls;
      for (const auto& e : plans[0].entries) table[from + e.offset] = e.config;
      tuner.committed(++version, {from});
    }
    if (call % 16 == 0 && tuner.status()[0].state == TaskState::kConverged) break;
  }
  const TaskStatus status = tuner.status()[0];
  Searched result;
  result.ofOracle = surface.oracleUs() / surface.trueUs(status.config);
  result.calls = int(status.measuredCalls);
  result.wallCalls = call;
  result.claims = status.config != status.defaultConfig;
  result.lostShare = status.lostUs / tuner.totals().communicationUs;
  return result;
}

}  // namespace autoccl
