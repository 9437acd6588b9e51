#include "report/explanation.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <sstream>

#include "report/summary.h"
#include "report/text_table.h"

namespace autoccl {
namespace {

constexpr size_t kRunnersUp = 5;
constexpr double kNoSlope = 1e6;  // GB/s: the times did not grow with the size

std::string line(const char* name, const std::string& value) {
  return "  " + std::string(name) + std::string(13 - std::string_view(name).size(), ' ') + value +
         "\n";
}

std::string timed(const Config& config, double us, double se) {
  if (us <= 0) return toText(config) + ", not measured";
  std::string text = toText(config) + ", " + figure(us) + " us";
  if (se > 0) text += " +- " + figure(1.96 * se);
  return text;
}

std::string runnersUp(const TaskRecord& task) {
  const auto all = candidates(task);
  TextTable table(
      {{"    config"}, {"us", true}, {"to that in use", true}, {"samples", true}, {"verdict"}});
  size_t shown = 0;
  for (const Candidate& c : all) {
    if (c.config == task.config || c.medianUs <= 0) continue;
    if (++shown > kRunnersUp) break;
    table.row({"    " + toText(c.config), figure(c.medianUs),
               task.tunedUs > 0 ? factor(c.medianUs / task.tunedUs) : "-",
               std::to_string(c.samples), c.verdict.empty() ? "-" : c.verdict});
  }
  if (shown == 0) return "";
  return "  the others   of " + std::to_string(all.size()) + " configs tried\n" + table.text();
}

std::string phases(const TaskRecord& task) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<int, int>> counts;  // blocks, calls
  for (const HistoryEntry& h : task.history) {
    if (!counts.count(h.phase)) order.push_back(h.phase);
    ++counts[h.phase].first;
    counts[h.phase].second += h.calls;
  }
  std::string text;
  for (const std::string& phase : order)
    text += (text.empty() ? "" : ", ") + phase + " " + std::to_string(counts[phase].second) +
            " calls in " + std::to_string(counts[phase].first) +
            (counts[phase].first == 1 ? " block" : " blocks");
  return text.empty() ? "" : line("phases", text);
}

std::string model(const TaskRecord& t) {
  if (t.modelBetaGBps <= 0 || t.modelBetaGBps > kNoSlope) return "";
  char text[128];
  std::snprintf(text, sizeof text, "alpha %s us, %s GB/s, off by %.0f %% on average",
                figure(t.modelAlphaUs).c_str(), figure(t.modelBetaGBps).c_str(),
                100 * t.modelResidual);
  return line("model", text);
}

std::string convergence(const TaskRecord& t) {
  if (t.convergedAtCall == 0) return line("state", stateText(t));
  return line("state", t.state + " at call " + std::to_string(t.convergedAtCall) + " of " +
                           std::to_string(t.calls) + ", after " + figure(t.convergedAtSecond) +
                           " s");
}

std::vector<std::string> lowerWords(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    words.push_back(word);
  }
  return words;
}

}  // namespace

std::vector<Candidate> candidates(const TaskRecord& task) {
  std::vector<Candidate> all;
  for (const HistoryEntry& h : task.history) {
    auto at =
        std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.config == h.config; });
    if (at == all.end()) at = all.insert(all.end(), {h.config, 0, 0, ""});
    at->samples += h.samples;
    if (!h.verdict.empty()) at->verdict = h.verdict;
    if (h.medianUs > 0 && (at->medianUs <= 0 || h.medianUs < at->medianUs))
      at->medianUs = h.medianUs;
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    if ((a.medianUs > 0) != (b.medianUs > 0)) return a.medianUs > 0;
    return a.medianUs < b.medianUs;
  });
  return all;
}

std::string explain(const TaskRecord& t) {
  std::string text = toText(t.task) + " (communicator " + t.communicator + ")\n";
  text += convergence(t);
  text += line("in use", timed(t.config, t.tunedUs, t.tunedSe));
  text += line("default", t.config == t.defaultConfig
                              ? "the same config"
                              : timed(t.defaultConfig, t.defaultUs, t.defaultSe));
  text += line("gain", gainText(t.gain, t.gainLow, t.gainHigh, t.confirmSamples > 0) +
                           (t.confirmSamples > 0
                                ? " from " + std::to_string(t.confirmSamples) + " fresh samples"
                                : " (not confirmed)"));
  text += line("clock", clockText(t));
  text += line("decided by", t.decidedBy.empty() ? "-" : t.decidedBy);
  text += line("cost", amount(t.lostUs / 1000) + " ms on losing trials, " +
                           amount(t.savedUs / 1000) + " ms saved since");
  return text + model(t) + phases(t) + runnersUp(t);
}

std::string explain(const ProfileEntry& e) {
  std::string text = toText(e.task) + "\n";
  text += line("choice", timed(e.config, e.tunedUs, e.tunedSe));
  text += line("default", e.config == e.defaultConfig
                              ? "the same config"
                              : timed(e.defaultConfig, e.defaultUs, e.defaultSe));
  text += line("gain", gainText(e.gain, e.gainLow, e.gainHigh, e.samples > 0) + " from " +
                           std::to_string(e.samples) + " fresh samples");
  text += line("decided by", e.decidedBy.empty() ? "-" : e.decidedBy);
  return text + line("learned", e.date + " with " + e.library);
}

std::string historyText(const TaskRecord& task, size_t width) {
  TextTable table({{"call", true},
                   {"calls", true},
                   {"samples", true},
                   {"median us", true},
                   {"seconds", true},
                   {"version", true},
                   {"phase"},
                   {"verdict"},
                   {"config"}});
  for (const HistoryEntry& h : task.history)
    table.row({std::to_string(h.fromCall), std::to_string(h.calls), std::to_string(h.samples),
               figure(h.medianUs), figure(h.second), std::to_string(h.version), h.phase,
               h.verdict.empty() ? "-" : h.verdict, toText(h.config)});
  return table.text(width);
}

Json explanationJson(const TaskRecord& t) {
  Json list = Json::list();
  for (const Candidate& c : candidates(t))
    list.add(Json::object()
                 .add("config", toText(c.config))
                 .add("median_us", c.medianUs)
                 .add("samples", c.samples)
                 .add("verdict", c.verdict));
  Json object = Json::object();
  object.add("task", toText(t.task)).add("communicator", t.communicator).add("state", t.state);
  object.add("config", toText(t.config)).add("tuned_us", t.tunedUs);
  object.add("default_config", toText(t.defaultConfig)).add("default_us", t.defaultUs);
  object.add("gain", t.gain).add("gain_low", t.gainLow).add("gain_high", t.gainHigh);
  object.add("clock", t.clock).add("kernel_default_us", t.kernelDefaultUs);
  object.add("kernel_tuned_us", t.kernelTunedUs);
  return object.add("decided_by", t.decidedBy).add("candidates", std::move(list));
}

bool fits(const Task& task, const std::string& query) {
  const auto have = lowerWords(toText(task)), want = lowerWords(query);
  return std::all_of(want.begin(), want.end(), [&](const std::string& word) {
    return std::find(have.begin(), have.end(), word) != have.end();
  });
}

}  // namespace autoccl
