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

/// What belongs to one row.
struct Parts {
  std::vector<Searched> alone, tuner, flat;
};

template <class Value>
std::vector<double> ascending(const std::vector<Searched>& all, Value value) {
  std::vector<double> values;
  values.reserve(all.size());
  for (const Searched& s : all) values.push_back(double(value(s)));
  std::sort(values.begin(), values.end());
  return values;
}

template <class Value>
double mean(const std::vector<Searched>& all, Value value) {
  double sum = 0;
  for (const Searched& s : all) sum += double(value(s));
  return all.empty() ? 0 : sum / double(all.size());
}

std::array<double, kLosses> lossesOf(const std::vector<Searched>& all) {
  std::array<double, kLosses> shares{};
  for (const Searched& s : all) shares[size_t(s.loss)] += 1 / double(all.size());
  return shares;
}

void fill(SearchRow& row, const Parts& p) {
  const auto reached = [](const Searched& s) { return s.ofOracle >= kGoal; };
  row.seeds = int(p.alone.size());
  row.callsMedian = median(ascending(p.alone, [](auto& s) { return s.calls; }));
  row.reached95 = mean(p.alone, reached);
  row.ofOracleGeomean = std::exp(mean(p.alone, [](auto& s) { return std::log(s.ofOracle); }));
  row.ofOracle = ascending(p.alone, [](auto& s) { return s.ofOracle; });
  row.losses = lossesOf(p.alone);
  row.falseGain = mean(p.flat, [](auto& s) { return s.claims; });
  row.tunerReached95 = mean(p.tuner, reached);
  row.tunerCallsMedian = median(ascending(p.tuner, [](auto& s) { return s.calls; }));
  const std::vector<double> wall = ascending(p.tuner, [](auto& s) { return s.wallCalls; });
  row.wallCallsMedian = median(wall);
  if (!wall.empty()) row.wallCallsNinth = wall[wall.size() * 9 / 10];
  row.lostShare = mean(p.tuner, [](auto& s) { return s.lostShare; });
  row.tunerLosses = lossesOf(p.tuner);
}

}  // namespace

std::vector<SearchRow> rowsOf(const std::vector<Search>& searches) {
  std::vector<SearchRow> rows;
  std::vector<Parts> parts;
  for (const Search& s : searches) {
    size_t r = 0;
    while (r < rows.size() && (rows[r].policy != s.policy || rows[r].noise != s.noise)) ++r;
    if (r == rows.size()) {
      rows.emplace_back().policy = s.policy;
      rows[r].noise = s.noise;
      parts.emplace_back();
    }
    Parts& p = parts[r];
    const bool flat = s.kind == SearchKind::kPolicyFlat || s.kind == SearchKind::kTunerFlat;
    (flat ? p.flat : s.kind == SearchKind::kTuner ? p.tuner : p.alone).push_back(s.found);
  }
  for (size_t r = 0; r < rows.size(); ++r) fill(rows[r], parts[r]);
  return rows;
}

std::string tableText(const std::vector<SearchRow>& rows) {
  std::string out =
      "policy        noise  seeds  calls  >=95 %  of oracle  5th perc.  false gain  "
      "| tuner: >=95 %  calls  wall calls  9 of 10    lost\n";
  for (const SearchRow& r : rows) {
    const double fifth = r.ofOracle.empty() ? 0 : r.ofOracle[r.ofOracle.size() / 20];
    out += text("%-12s %4.0f %%  %5d  %5.0f  %4.1f %%     %6.3f     %6.3f     %5.1f %%",
                r.policy.c_str(), r.noise * 100, r.seeds, r.callsMedian, r.reached95 * 100,
                r.ofOracleGeomean, fifth, r.falseGain * 100);
    if (r.wallCallsMedian > 0)
      out += text("  |        %4.1f %%  %5.0f  %10.0f  %7.0f  %4.1f %%", r.tunerReached95 * 100,
                  r.tunerCallsMedian, r.wallCallsMedian, r.wallCallsNinth, r.lostShare * 100);
    out += "\n";
  }
  return out;
}

std::string lossText(const std::vector<SearchRow>& rows) {
  std::string out =
      "seeds that miss: gain refused | no good config in its subspace | none was tried | another "
      "was picked\n";
  const auto line = [](const SearchRow& r, const char* who, const auto& losses) {
    std::string one = text("%-18s %4.0f %%", (r.policy + who).c_str(), r.noise * 100);
    for (size_t i = 1; i < losses.size(); ++i) one += text("  %5.1f %%", losses[i] * 100);
    return one + "\n";
  };
  for (const SearchRow& r : rows) {
    out += line(r, "", r.losses);
    if (r.wallCallsMedian > 0) out += line(r, ", tuner", r.tunerLosses);
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
