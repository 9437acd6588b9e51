#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "report/figures.h"
#include "report/text_table.h"
#include "tune/tuner.h"

namespace autoccl {
namespace {

using Findings = std::vector<std::string>;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

/// With the objective `step` the gain is the step's, and need not be the collective's.
void checkGain(const TaskRecord& t, bool ofSteps, Findings& out) {
  const std::string name = toText(t.task);
  if (t.confirmSamples == 0 || t.defaultUs <= 0 || t.tunedUs <= 0) return;
  const double ratio = t.defaultUs / t.tunedUs;
  if (t.gain < t.gainLow * 0.999 || t.gain > t.gainHigh * 1.001)
    out.push_back(name + ": the gain " + factor(t.gain) + " lies outside its own interval " +
                  factor(t.gainLow) + " to " + factor(t.gainHigh));
  if (!ofSteps && std::fabs(ratio / t.gain - 1) > 0.05)
    out.push_back(name + ": default/tuned is " + factor(ratio) + " but the gain says " +
                  factor(t.gain));
  if (t.config != t.defaultConfig && t.state == "converged" && t.gainLow < 0.99)
    out.push_back(name + ": a config is in use whose gain may be below 1 (from " +
                  factor(t.gainLow) + ")");
  if (t.config == t.defaultConfig && std::fabs(t.gain - 1) > 0.01)
    out.push_back(name + ": the default is in use but a gain of " + factor(t.gain) + " is claimed");
}

void checkTask(const TaskRecord& t, bool ofSteps, Findings& out) {
  checkGain(t, ofSteps, out);
  const std::string name = toText(t.task);
  if (t.convergedAtCall > t.calls)
    out.push_back(name + ": converged at call " + std::to_string(t.convergedAtCall) + " of " +
                  std::to_string(t.calls));
  if (t.modelResidual > 0.5)
    out.push_back(name + ": the fitted model is off by " + percent(t.modelResidual) +
                  " on average; its predictions say little here");
}

/// Along the sizes of one collective: times must not fall, bandwidth must not dip.
void checkSizes(const RunRecord& r, Findings& out) {
  std::map<std::tuple<Collective, DataType, ReduceOp, int, std::string>,
           std::map<uint64_t, const TaskRecord*>>
      lines;
  for (const TaskRecord& t : r.tasks)
    if (t.tunedUs > 0 && t.task.bytes > 0)
      lines[{t.task.collective, t.task.dtype, t.task.op, t.task.nRanks, t.communicator}]
           [t.task.bytes] = &t;
  for (const auto& [key, line] : lines) {
    std::vector<const TaskRecord*> tasks;
    for (const auto& [bytes, t] : line) tasks.push_back(t);
    for (size_t i = 1; i < tasks.size(); ++i)
      if (tasks[i]->tunedUs < 0.8 * tasks[i - 1]->tunedUs)
        out.push_back(toText(tasks[i]->task) + " takes " + figure(tasks[i]->tunedUs) +
                      " us, less than the smaller " + toText(tasks[i - 1]->task) + " with " +
                      figure(tasks[i - 1]->tunedUs) + " us: tune the smaller one again");
    for (size_t i = 1; i + 1 < tasks.size(); ++i) {
      const auto rate = [&](size_t k) { return ratesOf(tasks[k]->task, tasks[k]->tunedUs).busbw; };
      if (rate(i) < 0.7 * std::min(rate(i - 1), rate(i + 1)))
        out.push_back(toText(tasks[i]->task) + ": busbw dips to " + figure(rate(i)) +
                      " GB/s between neighbours of " + figure(rate(i - 1)) + " and " +
                      figure(rate(i + 1)) + " GB/s");
    }
  }
}

void checkSteps(const RunRecord& r, Findings& out) {
  const bool measured = r.defaultStepMs > 0 && r.tunedStepMs > 0;
  if (measured && r.netGainMs > 0 && r.tunedStepMs > 1.01 * r.defaultStepMs)
    out.push_back("collectives gained " + figure(r.netGainMs) + " ms but a step got longer, " +
                  figure(r.defaultStepMs) + " to " + figure(r.tunedStepMs) +
                  " ms: try --objective step");
  const auto off = std::count_if(r.steps.begin(), r.steps.end(), [](const StepRecord& s) {
    return std::fabs(s.exposedMs + s.computeMs - s.ms) > 0.05 * s.ms + 0.01;
  });
  if (off > 0)
    out.push_back("in " + std::to_string(off) + " of " + std::to_string(r.steps.size()) +
                  " steps compute and exposed communication do not add up to the step");
}

/// What every task may lose before the budget has filled.
double creditMs(const RunRecord& r) {
  double us = 0;
  for (const TaskRecord& t : r.tasks) us += t.defaultUs;
  return us * 1e-3 * TunerOptions{}.openingCreditCalls;
}

void checkRun(const RunRecord& r, Findings& out) {
  const double wallMs = 1000 * r.wallSeconds;
  if (r.communicationMs > 0 && r.tuningCostMs > r.budgetShare * r.communicationMs + creditMs(r))
    out.push_back("tuning cost " + figure(r.tuningCostMs) + " ms, " +
                  percent(r.tuningCostMs / r.communicationMs) +
                  " of communication time: more than the budget of " + percent(r.budgetShare) +
                  " and the opening credit of " + figure(creditMs(r)) + " ms allow");
  if (r.fenceMs > r.tuningCostMs + 0.01 && r.tuningCostMs >= 0)
    out.push_back("time at fences (" + figure(r.fenceMs) +
                  " ms) is larger than the cost of tuning that contains it");
  for (const RankRecord& rank : r.ranks) {
    const std::string name = "rank " + std::to_string(rank.rank);
    if (wallMs > 0 && rank.exposedMs > 1.02 * wallMs)
      out.push_back(name + " waited " + figure(rank.exposedMs) + " ms in a run of " +
                    figure(wallMs) + " ms");
    if (wallMs > 0 && rank.computeShare > 0 &&
        std::fabs(rank.computeShare + rank.exposedMs / wallMs - 1) > 0.15)
      out.push_back(name + ": compute (" + percent(rank.computeShare) +
                    ") and exposed communication (" + percent(rank.exposedMs / wallMs) +
                    ") do not add up to the run");
    if (rank.droppedSamples > 0)
      out.push_back(name + " dropped " + std::to_string(rank.droppedSamples) +
                    " samples: its ring was full");
  }
}

}  // namespace

std::vector<std::string> contradictions(const RunRecord& record) {
  Findings out;
  for (const TaskRecord& t : record.tasks) checkTask(t, record.objective == "step", out);
  checkSizes(record, out);
  checkSteps(record, out);
  checkRun(record, out);
  return out;
}

}  // namespace autoccl
