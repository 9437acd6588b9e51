#include "report/summary.h"

#include <algorithm>
#include <cstdio>

#include "report/text_table.h"

namespace autoccl {
namespace {

template <class... Values>
std::string format(const char* form, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, form, values...);
  return text;
}

double totalUs(const TaskRecord& t) {
  return static_cast<double>(t.calls) * std::max(t.tunedUs, t.defaultUs);
}

std::vector<const TaskRecord*> byTime(const RunRecord& record) {
  std::vector<const TaskRecord*> tasks;
  for (const TaskRecord& t : record.tasks) tasks.push_back(&t);
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const auto* a, const auto* b) { return totalUs(*a) > totalUs(*b); });
  return tasks;
}

std::string taskTable(const RunRecord& record, size_t width) {
  TextTable table({{"task"},
                   {"calls", true},
                   {"default us", true},
                   {"tuned us", true},
                   {"gain (95 %)"},
                   {"state"},
                   {"config"}});
  const auto tasks = byTime(record);
  for (size_t i = 0; i < std::min(tasks.size(), kSummaryTasks); ++i) {
    const TaskRecord& t = *tasks[i];
    table.row({toText(t.task), std::to_string(t.calls), figure(t.defaultUs), figure(t.tunedUs),
               gainText(t.gain, t.gainLow, t.gainHigh, t.confirmSamples > 0), stateText(t),
               toText(t.config) + (t.config == t.defaultConfig ? " (default)" : "")});
  }
  std::string text = table.text(width);
  if (tasks.size() > kSummaryTasks)
    text += format("and %zu tasks with less time\n", tasks.size() - kSummaryTasks);
  return text;
}

std::string line(const char* name, const std::string& value) {
  return format("%-16s", name) + value + "\n";
}

std::string stepLine(const RunRecord& r) {
  if (r.defaultStepMs <= 0 || r.tunedStepMs <= 0) return "";
  return line("step",
              format("%s ms before, %s ms after (%+.1f %%)", figure(r.defaultStepMs).c_str(),
                     figure(r.tunedStepMs).c_str(), 100 * (r.tunedStepMs / r.defaultStepMs - 1)));
}

std::string costLines(const RunRecord& r) {
  std::string cost = amount(r.tuningCostMs) + " ms";
  if (r.communicationMs > 0)
    cost += format(", %.2f %% of %s ms of communication (budget %g %%)",
                   100 * r.tuningCostMs / r.communicationMs, amount(r.communicationMs).c_str(),
                   100 * r.budgetShare);
  cost += "; " + amount(r.fenceMs) + " ms of it at fences";
  std::string gain = amount(r.netGainMs) + " ms, the cost of tuning taken off; ";
  gain += r.breakEvenStep
              ? format("break-even at step %llu", static_cast<unsigned long long>(r.breakEvenStep))
              : "break-even not reached";
  return line("cost of tuning", cost) + line("net gain", gain);
}

std::string convergenceLine(const RunRecord& r) {
  const auto done = std::count_if(r.tasks.begin(), r.tasks.end(),
                                  [](const auto& t) { return t.state == "converged"; });
  std::string text = format("%zd of %zu tasks", static_cast<ssize_t>(done), r.tasks.size());
  const bool all = static_cast<size_t>(done) == r.tasks.size();
  if (done > 0 && r.convergedAtCall)
    text += format("; %s at call %llu, step %llu, %.1f s", all ? "all" : "the last",
                   static_cast<unsigned long long>(r.convergedAtCall),
                   static_cast<unsigned long long>(r.convergedAtStep), r.convergedAtSecond);
  if (!all) text += "; tuning had not finished, what is shown is the best so far";
  return line("converged", text);
}

uint64_t callsOf(const RunRecord& r) {
  uint64_t calls = 0;
  for (const TaskRecord& t : r.tasks) calls += t.calls;
  return calls;
}

}  // namespace

std::string stateText(const TaskRecord& t) {
  if (t.state != "warm-up" || t.calls >= t.warmupCalls) return t.state;
  return t.state + ", " + std::to_string(t.calls) + " of " + std::to_string(t.warmupCalls) +
         " calls seen";
}

std::string clockText(const TaskRecord& t) {
  if (t.clock == "kernel") return "kernel time, the device's own stamps";
  if (t.clock != "stream") return "the host's";
  std::string text = "stream time, from ready to done";
  if (t.kernelDefaultUs > 0)
    text += "; kernel time beside it: " + figure(t.kernelDefaultUs) + " us for the default";
  if (t.kernelTunedUs > 0 && t.config != t.defaultConfig)
    text += ", " + figure(t.kernelTunedUs) + " us in use";
  return text;
}

std::string gainText(double gain, double low, double high, bool confirmed) {
  if (!confirmed) return "-";
  if (low == high) return factor(gain);  // the default stays
  return factor(gain) + format(" (%.2f-%.2f)", low, high);
}

std::string summaryText(const RunRecord& record, size_t width) {
  std::string text;
  if (record.tasks.empty())
    text += "no collective calls were seen\n";
  else
    text += taskTable(record, width) + "\n" + convergenceLine(record) + stepLine(record) +
            costLines(record);
  text += line("machine", record.machineText);
  for (const std::string& note : record.notes) text += line("note", note);
  return text;
}

std::string progressText(const RunRecord& before, const RunRecord& now) {
  const double seconds = now.wallSeconds - before.wallSeconds;
  const uint64_t calls = callsOf(now), earlier = callsOf(before);
  std::string text =
      format("%.0f s | %llu calls", now.wallSeconds, static_cast<unsigned long long>(calls));
  if (seconds > 0 && calls >= earlier)
    text += format(", %.0f/s", static_cast<double>(calls - earlier) / seconds);
  const TaskRecord* best = nullptr;
  size_t converged = 0;
  for (const TaskRecord& t : now.tasks) {
    converged += t.state == "converged";
    if (t.confirmSamples > 0 && t.gain > 1 && (best == nullptr || t.gain > best->gain)) best = &t;
  }
  text += format(" | %zu of %zu tasks converged", converged, now.tasks.size());
  if (best) text += " | best " + factor(best->gain) + " " + toText(best->task);
  return text;
}

}  // namespace autoccl
