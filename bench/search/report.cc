#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tune/statistics.h"

namespace autoccl {
namespace {

template <class... A>
std::string text(const char* format, A... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

constexpr double kGoal = 0.95;
constexpr double kLeft = 0.6;  // of the plot's axis
constexpr int kPanelWidth = 300, kPanelHeight = 220, kMargin = 46;
// Okabe and Ito's colours, which colour-blind readers tell apart.
constexpr const char* kColours[] = {"#0072b2", "#000000", "#d55e00",
                                    "#e69f00", "#009e73", "#cc79a7"};

double xOf(double ofOracle) {
  return (std::max(ofOracle, kLeft) - kLeft) / (1 - kLeft) * kPanelWidth;
}

std::string curve(const SearchRow& row, const char* colour) {
  std::string points;
  const size_t n = row.ofOracle.size();
  for (size_t i = 0; i < n; i += std::max<size_t>(1, n / 100))
    points += text("%.1f,%.1f ", xOf(row.ofOracle[i]), kPanelHeight * double(i) / double(n));
  points += text("%.1f,%d", double(kPanelWidth), kPanelHeight);
  return text("<polyline fill='none' stroke='%s' stroke-width='1.8' points='", colour) + points +
         "'/>\n";
}

std::string panel(const std::vector<SearchRow>& rows, double noise, int left) {
  std::string svg = text("<g transform='translate(%d,%d)'>\n", left, kMargin);
  svg +=
      text("<rect width='%d' height='%d' fill='none' stroke='#888'/>\n", kPanelWidth, kPanelHeight);
  svg += text("<text x='0' y='-10'>noise %.0f %%</text>\n", noise * 100);
  svg += text("<line x1='%.1f' x2='%.1f' y1='0' y2='%d' stroke='#bbb' stroke-dasharray='4 3'/>\n",
              xOf(kGoal), xOf(kGoal), kPanelHeight);
  for (const double tick : {0.6, 0.7, 0.8, 0.9, 1.0})
    svg += text("<text x='%.1f' y='%d' text-anchor='middle' font-size='11'>%.0f %%</text>\n",
                xOf(tick), kPanelHeight + 16, tick * 100);
  size_t colour = 0;
  for (const SearchRow& row : rows)
    if (row.noise == noise) svg += curve(row, kColours[colour++ % std::size(kColours)]);
  return svg + "</g>\n";
}

}  // namespace

SearchRow rowOf(const std::string& policy, double noise, const std::vector<Searched>& real,
                const std::vector<Searched>& flat, const std::vector<Searched>& tuner) {
  SearchRow row;
  row.policy = policy;
  row.noise = noise;
  row.seeds = int(real.size());
  const double n = std::max<double>(1, double(real.size()));
  std::vector<double> calls, tunerCalls, wall;
  for (const Searched& s : real) {
    calls.push_back(s.calls);
    row.ofOracle.push_back(s.ofOracle);
    row.reached95 += (s.ofOracle >= kGoal) / n;
    row.ofOracleGeomean += std::log(s.ofOracle) / n;
  }
  for (const Searched& s : tuner) {
    tunerCalls.push_back(s.calls);
    wall.push_back(double(s.wallCalls));
    row.tunerReached95 += (s.ofOracle >= kGoal) / n;
    row.lostShare += s.lostShare / n;
  }
  for (const Searched& s : flat)
    row.falseGain += s.claims / std::max<double>(1, double(flat.size()));
  row.ofOracleGeomean = std::exp(row.ofOracleGeomean);
  row.callsMedian = median(calls);
  row.tunerCallsMedian = median(tunerCalls);
  row.wallCallsMedian = median(wall);
  std::sort(row.ofOracle.begin(), row.ofOracle.end());
  return row;
}

std::string tableText(const std::vector<SearchRow>& rows) {
  std::string out =
      "policy        noise  seeds  calls  >=95 %  of oracle  5th perc.  false gain  "
      "| tuner: >=95 %  calls  wall calls    lost\n";
  for (const SearchRow& r : rows) {
    const double fifth = r.ofOracle.empty() ? 0 : r.ofOracle[r.ofOracle.size() / 20];
    out += text("%-12s %4.0f %%  %5d  %5.0f  %4.1f %%     %6.3f     %6.3f     %5.1f %%",
                r.policy.c_str(), r.noise * 100, r.seeds, r.callsMedian, r.reached95 * 100,
                r.ofOracleGeomean, fifth, r.falseGain * 100);
    if (r.wallCallsMedian > 0)
      out += text("  |        %4.1f %%  %5.0f  %10.0f  %4.1f %%", r.tunerReached95 * 100,
                  r.tunerCallsMedian, r.wallCallsMedian, r.lostShare * 100);
    out += "\n";
  }
  return out;
}

std::string jsonText(const std::vector<SearchRow>& rows) {
  std::string out = "{\"rows\":[";
  for (const SearchRow& r : rows) {
    if (&r != &rows.front()) out += ",";
    out += text(
        "\n  {\"policy\":\"%s\",\"noise\":%.3f,\"seeds\":%d,\"calls_median\":%.1f,"
        "\"reached95\":%.4f,\"false_gain\":%.4f,\"of_oracle_geomean\":%.5f",
        r.policy.c_str(), r.noise, r.seeds, r.callsMedian, r.reached95, r.falseGain,
        r.ofOracleGeomean);
    if (r.wallCallsMedian > 0)
      out += text(
          ",\"tuner_reached95\":%.4f,\"tuner_calls_median\":%.1f,\"wall_calls_median\":%.1f,"
          "\"lost_share\":%.5f",
          r.tunerReached95, r.tunerCallsMedian, r.wallCallsMedian, r.lostShare);
    out += "}";
  }
  return out + "\n]}\n";
}

std::string svgText(const std::vector<SearchRow>& rows) {
  std::vector<double> noises;
  for (const SearchRow& r : rows)
    if (std::find(noises.begin(), noises.end(), r.noise) == noises.end()) noises.push_back(r.noise);
  const int width = kMargin + int(noises.size()) * (kPanelWidth + kMargin),
            height = kPanelHeight + 3 * kMargin;
  std::string svg = text(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
      "font-family='sans-serif' font-size='13'>\n<rect width='100%%' height='100%%' "
      "fill='white'/>\n"
      "<title>Share of seeds below a share of the oracle's bandwidth; lower is better</title>\n",
      width, height, width, height);
  for (size_t i = 0; i < noises.size(); ++i)
    svg += panel(rows, noises[i], kMargin + int(i) * (kPanelWidth + kMargin));
  svg += text(
      "<text x='%d' y='%d'>right: bandwidth found / oracle; down: seeds from worst to best; "
      "dashed: 95 %%</text>\n",
      kMargin, kPanelHeight + kMargin + 38);
  size_t i = 0;
  for (const SearchRow& r : rows) {
    if (r.noise != noises[0]) continue;
    const int x = kMargin + int(i) * 130, y = kPanelHeight + kMargin + 62;
    svg +=
        text("<rect x='%d' y='%d' width='14' height='4' fill='%s'/><text x='%d' y='%d'>%s</text>\n",
             x, y - 6, kColours[i % std::size(kColours)], x + 20, y, r.policy.c_str());
    ++i;
  }
  return svg + "</svg>\n";
}

}  // namespace autoccl
