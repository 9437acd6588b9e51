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
constexpr size_t kLeastPairs = 3;
constexpr double kError = 0.05;

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

bool StepCalls::ready(const StepTable& steps) const {
  int64_t last = 0;
  for (const Call& c : calls_) last = std::max(last, c.atNs);
  return steps.lastNs() >= last;
}

std::vector<StepCalls::Pure> StepCalls::pure(const StepTable& steps) const {
  std::vector<Call> calls = calls_;
  std::sort(calls.begin(), calls.end(),
            [](const Call& a, const Call& b) { return a.atNs < b.atNs; });
  const auto after = [&](int64_t ns) {
    return std::upper_bound(calls.begin(), calls.end(), ns,
                            [](int64_t at, const Call& c) { return at < c.atNs; });
  };
  std::vector<Pure> found;
  for (const auto& step : steps.steps()) {
    const auto first = after(step.fromNs), end = after(step.toNs);
    if (first == end) continue;
    const bool one =
        std::all_of(first, end, [&](const Call& c) { return c.config == first->config; });
    if (one) found.push_back({first->index, first->config, step.ms});
  }
  return found;
}

StepCheck::Finding StepCheck::judge(const std::vector<std::vector<double>>& stepsByTrial) {
  std::vector<double> ratios;
  std::vector<std::vector<double>> own;  // the default's
  for (size_t i = 0; i + 1 < stepsByTrial.size(); i += 2) {
    const bool turned = i / 2 % 2 == 1;
    const auto& fallback = stepsByTrial[turned ? i + 1 : i];
    const auto& candidate = stepsByTrial[turned ? i : i + 1];
    own.push_back(fallback);
    if (!fallback.empty() && !candidate.empty())
      ratios.push_back(std::log(median(fallback) / median(candidate)));
  }
  Finding f;
  f.gain = pairedInterval(ratios, kError);
  f.passed = ratios.size() >= kLeastPairs && neverSlower(f.gain, selfHalfWidth(own));
  char text[128];
  std::snprintf(text, sizeof text,
                "step default/candidate %.3f (95 %%: %.3f to %.3f) on %zu pairs of runs",
                std::exp(f.gain.mean), std::exp(f.gain.low), std::exp(f.gain.high), ratios.size());
  f.text = text;
  return f;
}

}  // namespace autoccl
