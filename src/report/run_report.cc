#include "report/run_report.h"

#include <algorithm>
#include <cstdio>

#include "report/figures.h"
#include "report/page.h"
#include "report/summary.h"
#include "report/svg.h"
#include "report/task_plots.h"
#include "report/text_table.h"

namespace autoccl {
namespace {

constexpr size_t kLines = 6;  // collectives with plots by size

std::string signedPercent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * share);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

std::vector<const TaskRecord*> byGain(const RunRecord& r) {
  std::vector<const TaskRecord*> tasks;
  for (const TaskRecord& t : r.tasks) tasks.push_back(&t);
  std::stable_sort(tasks.begin(), tasks.end(), [](const auto* a, const auto* b) {
    return static_cast<double>(a->calls) * a->defaultUs >
           static_cast<double>(b->calls) * b->defaultUs;
  });
  return tasks;
}

page::Card stepCard(const RunRecord& r) {
  if (r.defaultStepMs <= 0 || r.tunedStepMs <= 0)
    return {"Step time", "-", r.steps.empty() ? "no steps were seen" : "too few steps to compare",
            ""};
  const double change = r.tunedStepMs / r.defaultStepMs - 1;
  const std::string times = figure(r.defaultStepMs) + " to " + figure(r.tunedStepMs) + " ms";
  const bool tuned = std::any_of(r.tasks.begin(), r.tasks.end(),
                                 [](const auto& t) { return t.config != t.defaultConfig; });
  if (!tuned)
    return {"Step time", signedPercent(change), times + "; all by the default, so this is chance",
            ""};
  const char* tone = change <= -0.01 ? "good" : change >= 0.01 ? "bad" : "";
  return {"Step time", signedPercent(change), times, tone};
}

page::Card bestCard(const RunRecord& r) {
  const TaskRecord* best = nullptr;
  for (const TaskRecord& t : r.tasks)
    if (t.confirmSamples > 0 && (best == nullptr || t.gain > best->gain)) best = &t;
  if (best == nullptr) return {"Best gain", "-", "no task has come to a decision", ""};
  if (best->gain <= 1) return {"Best gain", "none", "the default was best everywhere", ""};
  return {"Best gain", factor(best->gain), toText(best->task), "good"};
}

std::string atAGlance(const RunRecord& r) {
  const auto converged = std::count_if(r.tasks.begin(), r.tasks.end(),
                                       [](const auto& t) { return t.state == "converged"; });
  const std::string when = r.convergedAtCall ? "all by step " + std::to_string(r.convergedAtStep) +
                                                   ", " + figure(r.convergedAtSecond) + " s"
                                             : "tuning had not finished";
  const std::string breakEven = r.breakEvenStep
                                    ? "break-even at step " + std::to_string(r.breakEvenStep)
                                    : "break-even not reached";
  const double share = r.communicationMs > 0 ? r.tuningCostMs / r.communicationMs : 0;
  return page::cards(
      {stepCard(r),
       bestCard(r),
       {"Tasks converged", std::to_string(converged) + " of " + std::to_string(r.tasks.size()),
        when, ""},
       {"Cost of tuning", amount(r.tuningCostMs) + " ms",
        percent(share) + " of communication, budget " + percent(r.budgetShare), ""},
       {"Net gain", amount(r.netGainMs) + " ms", breakEven, r.netGainMs > 0 ? "good" : ""}});
}

std::string findings(const RunRecord& r) {
  const auto found = contradictions(r);
  std::string body = found.empty() ? "<p>No figure of this run contradicts another.</p>\n"
                                   : page::list(found, "warn");
  if (!r.notes.empty()) body += page::list(r.notes, "");
  return page::section("findings", "Findings", "", body);
}

std::string bySize(const RunRecord& r) {
  std::string body;
  const auto lines = sizeLines(r);
  if (lines.empty()) return "";
  for (size_t i = 0; i < std::min(lines.size(), kLines); ++i)
    body += page::figures(sizePlots(lines[i]));
  return page::section(
      "sizes", "Default against tuned, by size",
      "Medians of fresh, interleaved calls of this run; the bars are 95 % intervals.", body);
}

std::string steps(const RunRecord& r) {
  if (r.steps.empty()) return "";
  return page::section(
      "steps", "Steps",
      "Each dot is a step, in a long run the median of neighbours. Exposed is the time "
      "the program waited for communication.",
      page::figures(stepPlots(r)));
}

std::string ranks(const RunRecord& r) {
  if (r.ranks.empty()) return "";
  std::vector<Bar> busy, exposed;
  const double wallMs = 1000 * r.wallSeconds;
  for (const RankRecord& k : r.ranks) {
    const std::string name = "rank " + std::to_string(k.rank);
    busy.push_back({name, k.computeShare, percent(k.computeShare), ink::kGood});
    const double share = wallMs > 0 ? k.exposedMs / wallMs : 0;
    exposed.push_back(
        {name, share, figure(k.exposedMs) + " ms (" + percent(share) + ")", ink::kAccent});
  }
  return page::section("ranks", "Ranks", "Shares of the time between a rank's first and last call.",
                       page::figures({barsSvg("Busy with compute", busy),
                                      barsSvg("Waiting for communication (exposed)", exposed)}));
}

std::string search(const RunRecord& r) {
  std::string body;
  const auto tasks = byGain(r);
  for (size_t i = 0; i < std::min(tasks.size(), kReportTasks); ++i) {
    const TaskRecord& t = *tasks[i];
    const std::string gain = gainText(t.gain, t.gainLow, t.gainHigh, t.confirmSamples > 0);
    std::string inside = page::facts({{"default", toText(t.defaultConfig)},
                                      {"in use", toText(t.config)},
                                      {"clock", clockText(t)},
                                      {"decided by", t.decidedBy},
                                      {"spent on losing trials", amount(t.lostUs / 1000) + " ms"},
                                      {"saved since", amount(t.savedUs / 1000) + " ms"}});
    if (!t.history.empty()) inside += page::figures(searchPlots(t));
    body += page::fold(toText(t.task), gain + ", " + stateText(t), inside, i < 2);
  }
  return page::section(
      "search", "The search, task by task",
      "Every dot is a block of measured calls. Green: the best so far, or accepted on fresh calls. "
      "Orange: not the best. Red: rejected on fresh calls, or failed. Grey: the default, for "
      "comparison. Point at one for its config.",
      body);
}

std::string fits(const RunRecord& r) {
  const auto all = latencyFits(r);
  if (all.empty()) return "";
  page::Table t{{"collective", "algorithm", "ranks", "sizes", "alpha us", "asymptotic GB/s",
                 "half at", "residual"},
                {false, false, true, true, true, true, true, true},
                {}};
  for (const LatencyFit& f : all)
    t.rows.push_back({std::string(toText(f.collective)), std::string(toText(f.algorithm)),
                      std::to_string(f.nRanks), std::to_string(f.sizes), figure(f.alphaUs),
                      figure(f.bandwidthGBps),
                      bytesText(static_cast<uint64_t>(f.halfBytes) >> 10 << 10),
                      percent(f.residual)});
  return page::section(
      "fits", "Latency and bandwidth",
      "The line alpha + bytes / bandwidth through the best times of each algorithm; "
      "half at is the size that reaches half of that bandwidth.",
      page::table(t));
}

/// "18.2 to 26.5", or one figure where both are the same.
std::string change(double before, double after) {
  const std::string from = figure(before), to = figure(after);
  return from == to ? to : from + " to " + to;
}

std::string allTasks(const RunRecord& r) {
  page::Table t{{"task", "calls", "default us", "tuned us", "gain (95 %)", "algbw", "busbw",
                 "state", "config"},
                {false, true, true, true, true, true, true, false, false},
                {}};
  for (const TaskRecord* task : byGain(r)) {
    const Rates before = ratesOf(task->task, task->defaultUs),
                after = ratesOf(task->task, task->tunedUs);
    t.rows.push_back({toText(task->task), std::to_string(task->calls), figure(task->defaultUs),
                      figure(task->tunedUs),
                      gainText(task->gain, task->gainLow, task->gainHigh, task->confirmSamples > 0),
                      change(before.algbw, after.algbw), change(before.busbw, after.busbw),
                      stateText(*task), toText(task->config)});
  }
  return page::section(
      "tasks", "All tasks",
      "Bandwidths in GB/s (10^9 bytes a second), default to tuned: algbw is bytes by time, busbw "
      "that times "
      "2(n-1)/n for AllReduce, (n-1)/n for AllGather, ReduceScatter and AllToAll, 1 else.",
      page::table(t));
}

std::string head(const RunRecord& r) {
  return "<header><h1>AutoCCL run report</h1>\n<p><code>" + escaped(r.command) +
         "</code></p>\n<p>" + escaped(r.machineText) + " &middot; " + escaped(r.date) +
         " &middot; " + escaped(r.library) + ", policy " + escaped(r.policy) + ", objective " +
         escaped(r.objective) + " &middot; " + figure(r.wallSeconds) + " s, " + escaped(r.state) +
         "</p></header>\n";
}

}  // namespace

std::string runReportHtml(const RunRecord& r) {
  return page::document(
      "AutoCCL: " + r.command,
      head(r) + atAGlance(r) + findings(r) + bySize(r) + steps(r) + ranks(r) + search(r) + fits(r) +
          allTasks(r) + "<footer>Measured on the machine named above, in this run. Fingerprint " +
          escaped(r.machine) + ".</footer>\n");
}

}  // namespace autoccl
