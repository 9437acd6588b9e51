#include "cli/bench_plot.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "model/config.h"
#include "report/svg.h"

namespace autoccl::cli {
namespace {

using bench::BenchResult;
using bench::BenchRow;
using bench::GridRow;

constexpr double kWidth = 960;
constexpr double kHeight = 340;
constexpr double kMargin = 16;
constexpr double kStep = kHeight + kMargin;
constexpr size_t kShownSubspaces = 5;  // the fastest ones of a response plot

std::string sizeTick(double bytes) {
  return bytesText(static_cast<uint64_t>(std::llround(bytes)));
}

std::string seriesName(const BenchRow& r) {
  return r.own ? r.who + (r.registered ? ", registered" : ", ordinary") : r.who;
}

Plot timeBySize(const std::vector<BenchRow>& rows, Collective collective) {
  Plot plot;
  plot.title = std::string(toText(collective)) + ": time by size, median with 10 % and 90 %";
  plot.xLabel = "size";
  plot.yLabel = "us";
  plot.xLog = plot.yLog = true;
  plot.xTick = sizeTick;
  plot.width = kWidth;
  plot.height = kHeight;
  std::map<std::string, size_t> places;
  for (const BenchRow& r : rows) {
    if (r.collective != collective || r.medianUs == 0) continue;
    const auto [at, isNew] = places.try_emplace(seriesName(r), plot.series.size());
    if (isNew) {
      plot.series.emplace_back();
      plot.series.back().name = at->first;
      plot.series.back().color = ink::ofSeries(at->second);
      plot.series.back().dashed = !r.own;
    }
    plot.series[at->second].points.push_back(
        {static_cast<double>(r.bytes), r.medianUs, r.p10Us, r.p90Us, nullptr, r.config});
  }
  return plot;
}

/// One parameter of a config, for the response plots.
struct Axis {
  const char* name;
  double (*of)(const Config&);
  std::string (*tick)(double);
};

std::string countTick(double v) {
  return std::to_string(std::lround(v));
}

const Axis kAxes[] = {
    {"chunk C", [](const Config& c) { return static_cast<double>(c.chunk); }, sizeTick},
    {"channels NC", [](const Config& c) { return static_cast<double>(c.channels); }, countTick},
    {"threads NT", [](const Config& c) { return static_cast<double>(c.threads); }, countTick},
};

std::string subspaceName(const Config& c) {
  const std::string text = toText(c);
  const size_t wait = text.find("wait=");
  return text.substr(0, text.find(' ')) +
         (wait == std::string::npos ? "" : " " + text.substr(wait + 5));
}

Plot response(const std::vector<const GridRow*>& rows, const Axis& axis) {
  std::map<std::string, std::map<double, double>> best;  // subspace, value -> least time
  for (const GridRow* r : rows) {
    const Config c = parseConfig(r->config);
    const auto [at, isNew] = best[subspaceName(c)].try_emplace(axis.of(c), r->medianUs);
    if (!isNew) at->second = std::min(at->second, r->medianUs);
  }
  std::vector<std::pair<double, std::string>> order;
  order.reserve(best.size());
  for (const auto& [name, values] : best)
    order.emplace_back(std::min_element(values.begin(), values.end(),
                                        [](auto& a, auto& b) { return a.second < b.second; })
                           ->second,
                       name);
  std::sort(order.begin(), order.end());
  Plot plot;
  const GridRow& any = *rows.front();
  plot.title = std::string(toText(any.collective)) + " " + bytesText(any.bytes) + ", " +
               std::to_string(any.ranks) + " ranks: response to " + axis.name;
  plot.xLabel = axis.name;
  plot.yLabel = "us";
  plot.xLog = plot.yLog = true;
  plot.xTick = axis.tick;
  plot.width = kWidth;
  plot.height = kHeight;
  for (size_t i = 0; i < std::min(order.size(), kShownSubspaces); ++i) {
    PlotSeries series;
    series.name = order[i].second;
    series.color = ink::ofSeries(i);
    for (const auto& [x, y] : best[series.name]) series.points.push_back({x, y});
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string stacked(const std::vector<Plot>& plots) {
  const double height = kStep * static_cast<double>(plots.size()) + kMargin;
  const double width = kWidth + 2 * kMargin;
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
                     "\" height=\"" + std::to_string(height) +
                     "\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (size_t i = 0; i < plots.size(); ++i) {
    // A plot fills whatever it stands in; inside another picture it needs its place and size.
    const double y = kMargin + kStep * static_cast<double>(i);
    text += "<svg x=\"" + std::to_string(kMargin) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
            std::to_string(kWidth) + "\" height=\"" + std::to_string(kHeight) + "\">\n" +
            plotSvg(plots[i]) + "</svg>\n";
  }
  return text + "</svg>\n";
}

}  // namespace

std::string benchSvg(const BenchResult& result) {
  std::vector<Plot> plots;
  std::set<Collective> collectives;
  for (const BenchRow& r : result.rows)
    if (collectives.insert(r.collective).second)
      plots.push_back(timeBySize(result.rows, r.collective));
  std::map<std::tuple<Collective, uint64_t, bool>, std::vector<const GridRow*>> tasks;
  for (const GridRow& r : result.grid) tasks[{r.collective, r.bytes, r.registered}].push_back(&r);
  for (const auto& [task, rows] : tasks)
    for (const Axis& axis : kAxes) plots.push_back(response(rows, axis));
  return stacked(plots);
}

}  // namespace autoccl::cli
