#include "report/task_plots.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/figures.h"
#include "report/svg.h"
#include "report/text_table.h"

namespace autoccl {
namespace {

constexpr size_t kStepDots = 240;
constexpr double kSmallHeight = 130, kTallHeight = 390;
constexpr double kInterval = 1.96;  // standard errors of a 95 % interval

std::string sizeTick(double bytes) {
  return bytesText(static_cast<uint64_t>(std::llround(bytes)));
}
std::string countTick(double v) {
  return std::fabs(v - std::round(v)) < 1e-6 ? std::to_string(std::llround(v)) : "";
}

std::string lineName(const Task& t) {
  std::string text(toText(t.collective));
  text.append(" ").append(toText(t.dtype));
  if (reduces(t.collective)) text.append(" ").append(toText(t.op));
  return text + " x" + std::to_string(t.nRanks);
}

double timeOf(const SizeLine& line) {
  double us = 0;
  for (const TaskRecord* t : line.tasks) us += static_cast<double>(t->calls) * t->defaultUs;
  return us;
}

PlotPoint timePoint(const TaskRecord& t, double us, double se, const Config& config) {
  return {static_cast<double>(t.task.bytes),
          us,
          us - kInterval * se,
          us + kInterval * se,
          nullptr,
          bytesText(t.task.bytes) + ": " + figure(us) + " us, " + toText(config)};
}

PlotPoint ratePoint(const TaskRecord& t, double us, const Config& config) {
  const double busbw = ratesOf(t.task, us).busbw;
  return {static_cast<double>(t.task.bytes),
          busbw,
          0,
          0,
          nullptr,
          bytesText(t.task.bytes) + ": " + figure(busbw) + " GB/s, " + toText(config)};
}

const char* colorOf(const HistoryEntry& h) {
  if (h.verdict == "failed" || h.verdict == "rejected" || h.verdict == "rolled back")
    return ink::kBad;
  if (h.verdict == "win" || h.verdict == "accepted" || h.verdict == "kept") return ink::kGood;
  if (h.verdict == "lose") return ink::kLost;
  return ink::kDefault;
}

std::string hintOf(const HistoryEntry& h) {
  return h.phase + (h.verdict.empty() ? "" : ", " + h.verdict) + ": " + toText(h.config) + ", " +
         figure(h.medianUs) + " us";
}

std::string convergencePlot(const TaskRecord& t) {
  PlotSeries trials{"trial", {}, ink::kDefault, false};
  PlotSeries best{"best seen", {}, ink::kTuned, true, false};
  best.stepped = true;
  double least = INFINITY;
  for (const HistoryEntry& h : t.history) {
    if (h.medianUs <= 0) continue;
    const auto call = static_cast<double>(h.fromCall);
    trials.points.push_back({call, h.medianUs, 0, 0, colorOf(h), hintOf(h)});
    least = std::min(least, h.medianUs);
    best.points.push_back({call, least});
  }
  Plot plot;
  plot.title = "Convergence";
  plot.height = kTallHeight;
  plot.xLabel = "call";
  plot.yLabel = "us";
  plot.yLog = true;
  plot.xTick = countTick;
  plot.series = {best, trials};
  if (t.defaultUs > 0) plot.rules.push_back({t.defaultUs, false, "default"});
  if (t.convergedAtCall > 0)
    plot.rules.push_back({static_cast<double>(t.convergedAtCall), true, "converged"});
  return plotSvg(plot);
}

/// The values visited, thinned so that their texts do not touch on a logarithmic axis.
std::vector<double> distinct(const std::vector<PlotPoint>& points) {
  constexpr double kLeastGap = 0.22;  // of the axis
  std::vector<double> values;
  values.reserve(points.size());
  for (const PlotPoint& p : points) values.push_back(p.y);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.empty()) return values;
  const double gap = kLeastGap * std::log(values.back() / values.front());
  std::vector<double> kept{values.front()};
  for (const double v : values)
    if (v > kept.back() && std::log(v / kept.back()) >= gap) kept.push_back(v);
  return kept;
}

std::string pathPlot(const TaskRecord& t, const char* title,
                     const std::function<double(const Config&)>& of,
                     const std::function<std::string(double)>& tick) {
  PlotSeries path{"", {}, ink::kTuned};
  path.stepped = true;
  for (const HistoryEntry& h : t.history)
    path.points.push_back(
        {static_cast<double>(h.fromCall), of(h.config), 0, 0, colorOf(h), hintOf(h)});
  Plot plot;
  plot.title = title;
  plot.height = kSmallHeight;
  plot.yTicks = distinct(path.points);
  plot.xLabel = "call";
  plot.yLog = true;
  plot.xTick = countTick;
  plot.yTick = tick;
  plot.series = {path};
  return plotSvg(plot);
}

/// At most kStepDots medians of neighbouring steps.
std::vector<PlotPoint> thinned(const std::vector<StepRecord>& steps, double StepRecord::*field) {
  std::vector<PlotPoint> points;
  const size_t stride = (steps.size() + kStepDots - 1) / kStepDots;
  for (size_t from = 0; from < steps.size(); from += stride) {
    std::vector<double> values;
    for (size_t i = from; i < std::min(steps.size(), from + stride); ++i)
      values.push_back(steps[i].*field);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    points.push_back({static_cast<double>(from), *middle});
  }
  return points;
}

}  // namespace

std::vector<SizeLine> sizeLines(const RunRecord& record) {
  std::vector<SizeLine> lines;
  for (const TaskRecord& t : record.tasks) {
    if (t.task.bytes == 0 || t.defaultUs <= 0) continue;
    const std::string name = lineName(t.task);
    auto at =
        std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.name == name; });
    if (at == lines.end()) at = lines.insert(lines.end(), {name, {}});
    at->tasks.push_back(&t);
  }
  for (SizeLine& l : lines)
    std::stable_sort(l.tasks.begin(), l.tasks.end(),
                     [](const auto* a, const auto* b) { return a->task.bytes < b->task.bytes; });
  const auto severalSizes = [](const SizeLine& l) { return l.tasks.size() > 1; };
  if (std::any_of(lines.begin(), lines.end(), severalSizes))
    std::erase_if(lines, std::not_fn(severalSizes));
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return timeOf(a) > timeOf(b); });
  return lines;
}

std::vector<std::string> sizePlots(const SizeLine& line) {
  Plot time, rate;
  time.title = line.name + ": time";
  time.yLabel = "us";
  rate.title = line.name + ": bus bandwidth";
  rate.yLabel = "GB/s";
  for (Plot* plot : {&time, &rate}) {
    plot->xLabel = "bytes";
    plot->xLog = true;
    plot->xTick = sizeTick;
    plot->series = {{"default", {}, ink::kDefault}, {"tuned", {}, ink::kTuned}};
  }
  time.yLog = true;
  rate.yFromZero = true;
  for (const TaskRecord* t : line.tasks) {
    time.series[0].points.push_back(timePoint(*t, t->defaultUs, t->defaultSe, t->defaultConfig));
    time.series[1].points.push_back(timePoint(*t, t->tunedUs, t->tunedSe, t->config));
    rate.series[0].points.push_back(ratePoint(*t, t->defaultUs, t->defaultConfig));
    rate.series[1].points.push_back(ratePoint(*t, t->tunedUs, t->config));
  }
  return {plotSvg(time), plotSvg(rate)};
}

std::vector<std::string> searchPlots(const TaskRecord& task) {
  return {convergencePlot(task),
          pathPlot(
              task, "Channels (NC)", [](const Config& c) { return c.channels; }, countTick) +
              pathPlot(
                  task, "Threads (NT)", [](const Config& c) { return c.threads; }, countTick) +
              pathPlot(
                  task, "Chunk (C)", [](const Config& c) { return c.chunk; }, sizeTick)};
}

std::vector<std::string> stepPlots(const RunRecord& record) {
  Plot length, parts;
  length.title = "Step time";
  parts.title = "Compute and exposed communication of rank 0";
  for (Plot* plot : {&length, &parts}) {
    plot->xLabel = "step";
    plot->yLabel = "ms";
    plot->yFromZero = plot == &parts;
    plot->xTick = countTick;
    if (record.convergedAtStep > 0)
      plot->rules.push_back({static_cast<double>(record.convergedAtStep), true, "converged"});
  }
  const auto last = static_cast<double>(record.steps.empty() ? 0 : record.steps.size() - 1);
  const auto turn = std::min(last, static_cast<double>(record.convergedAtStep));
  length.series = {{"step", thinned(record.steps, &StepRecord::ms), "#a9b4c2", false}};
  if (record.defaultStepMs > 0 && record.tunedStepMs > 0) {
    length.series.push_back({"before",
                             {{0, record.defaultStepMs}, {turn, record.defaultStepMs}},
                             ink::kAccent,
                             true,
                             false});
    length.series.push_back({"after",
                             {{turn, record.tunedStepMs}, {last, record.tunedStepMs}},
                             ink::kTuned,
                             true,
                             false});
  }
  parts.series = {
      {"compute", thinned(record.steps, &StepRecord::computeMs), ink::kGood, true, false},
      {"exposed", thinned(record.steps, &StepRecord::exposedMs), ink::kAccent, true, false}};
  return {plotSvg(length), plotSvg(parts)};
}

}  // namespace autoccl
