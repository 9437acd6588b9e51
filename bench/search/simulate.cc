#include "simulate.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tune/policy.h"
#include "tune/tuner.h"

namespace autoccl {
namespace {

constexpr uint64_t kAgreementCalls = 6;  // between a proposal and the first call it governs
constexpr uint64_t kLookEvery = 16;      // calls between two looks at the tuner's state
constexpr int64_t kFirstNs = 1'000'000'000;

bool goodEnough(const Surface& surface, const Config& c) {
  return surface.oracleUs() >= kGoal * surface.trueUs(c);
}

bool subspaceHolds(const Surface& surface, const Config& answer) {
  const Space& space = surface.space();
  for (const Subspace& s : space.subspaces) {
    if (!s.holds(answer)) continue;
    for (size_t i = 0; i < s.channels.size(); ++i)
      for (size_t j = 0; j < s.threads.size(); ++j)
        for (size_t k = 0; k < s.chunks.size(); ++k)
          if (const Config c = s.at(i, j, k); space.valid(c) && goodEnough(surface, c)) return true;
  }
  return false;
}

Loss lossOf(const Surface& surface, const Config& answer, const std::set<Config>& tried,
            const std::set<Config>& candidates) {
  const auto good = [&](const Config& c) { return goodEnough(surface, c); };
  if (good(answer)) return Loss::kNone;
  if (std::any_of(candidates.begin(), candidates.end(), good)) return Loss::kRefused;
  if (!subspaceHolds(surface, answer)) return Loss::kSubspace;
  return std::any_of(tried.begin(), tried.end(), good) ? Loss::kPicked : Loss::kUntried;
}

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
  std::set<Config> tried;
  while (!search->done() && result.calls < maxCalls) {
    std::vector<Sample> samples;
    for (const Trial& t : search->ask())
      for (int i = 0; i < t.calls && result.calls < maxCalls; ++i, ++result.calls) {
        samples.push_back(
            {t.config, noise.measure(surface.trueUs(t.config)), uint64_t(result.calls), false});
        tried.insert(t.config);
      }
    search->tell(samples);
  }
  const Config answer = search->best();
  result.ofOracle = surface.oracleUs() / surface.trueUs(answer);
  result.claims = answer != surface.space().fallback;
  result.loss = lossOf(surface, answer, tried, {});
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
  std::set<Config> tried;
  uint64_t call = 0, version = 0;
  for (; call < mostCalls; ++call) {
    const Config c = std::prev(table.upper_bound(call))->second;
    tried.insert(c);
    const double us = noise.measure(surface.trueUs(c));
    nowNs += int64_t(us * 1e3);
    tuner.tell({{keyOf(task), call, c, us, false, nowNs}});
    const auto plans = tuner.nextPlans(nowNs);
    if (!plans.empty()) {
      const uint64_t from = call + kAgreementCalls;
      for (const auto& e : plans[0].entries) table[from + e.offset] = e.config;
      tuner.committed(++version, {from});
    }
    if (call % kLookEvery == 0 && tuner.status()[0].state == TaskState::kConverged) break;
  }
  const TaskStatus status = tuner.status()[0];
  std::set<Config> candidates;
  for (const TrialRecord& r : status.history)
    if (r.phase == "confirm") candidates.insert(r.config);
  Searched result;
  result.ofOracle = surface.oracleUs() / surface.trueUs(status.config);
  result.calls = int(status.measuredCalls);
  result.wallCalls = call;
  result.claims = status.config != status.defaultConfig;
  result.lostShare = status.lostUs / tuner.totals().communicationUs;
  result.loss = lossOf(surface, status.config, tried, candidates);
  return result;
}

}  // namespace autoccl
