#include "tune/step_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tune/confirmation.h"

namespace autoccl {
namespace {

constexpr int kRunPairs = 10;
constexpr double kStepsPerRun = 3;  // two of them whole
constexpr int kMostCallsPerRun = 4096;

}  // namespace

void StepTable::ended(double ms, int64_t nowNs) {
  ++count_;
  steps_.push_back({nowNs - static_cast<int64_t>(ms * 1e6), nowNs, ms});
  if (steps_.size() > kMost) steps_.pop_front();
}

double StepTable::medianMs() const {
  std::vector<double> ms;
  for (const Step& s : steps_) ms.push_back(s.ms);
  return median(ms);
}

StepCheck::StepCheck(const Config& fallback, const Config& candidate, double callsPerStep)
    : fallback_(fallback),
      candidate_(candidate),
      callsPerRun_(std::clamp(static_cast<int>(std::lround(callsPerStep * kStepsPerRun)), 2,
                              kMostCallsPerRun)) {}

std::vector<Trial> StepCheck::ask() const {
  std::vector<Trial> trials;
  for (int pair = 0; pair < kRunPairs; ++pair) {
    trials.push_back({pair % 2 ? candidate_ : fallback_, callsPerRun_});
    trials.push_back({pair % 2 ? fallback_ : candidate_, callsPerRun_});
  }
  return trials;
}

bool StepCheck::ready(const StepTable& steps) const {
  int64_t last = 0;
  for (const Call& c : calls_) last = std::max(last, c.atNs);
  return steps.lastNs() >= last;
}

StepCheck::Finding StepCheck::judge(const StepTable& steps) const {
  // Each step with calls of one config only, in order; neighbours of different configs make pairs.
  std::vector<std::pair<bool, double>> pure;
  for (const auto& step : steps.steps()) {
    int candidate = 0, fallback = 0;
    for (const Call& c : calls_)
      if (c.atNs > step.fromNs && c.atNs <= step.toNs) ++(c.candidate ? candidate : fallback);
    if ((candidate > 0) != (fallback > 0)) pure.emplace_back(candidate > 0, step.ms);
  }
  std::vector<std::pair<bool, std::vector<double>>> runs;
  for (const auto& [candidate, ms] : pure) {
    if (runs.empty() || runs.back().first != candidate) runs.push_back({candidate, {}});
    runs.back().second.push_back(ms);
  }
  std::vector<double> ratios;
  std::vector<std::vector<double>> own;
  for (const auto& run : runs)
    if (!run.first) own.push_back(run.second);
  for (size_t i = 0; i + 1 < runs.size(); i += 2) {
    const auto& [first, a] = runs[i];
    const double ratio = std::log(median(a) / median(runs[i + 1].second));
    ratios.push_back(first ? -ratio : ratio);
  }
  Finding f;
  f.gain = pairedInterval(ratios, 0.05);
  f.passed = ratios.size() >= 3 && neverSlower(f.gain, selfHalfWidth(own));
  char text[128];
  std::snprintf(text, sizeof text,
                "step default/candidate %.3f (95 %%: %.3f to %.3f) on %zu pairs of runs",
                std::exp(f.gain.mean), std::exp(f.gain.low), std::exp(f.gain.high), ratios.size());
  f.text = text;
  return f;
}

}  // namespace autoccl
