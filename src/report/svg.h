// Plots as SVG text: no script, no outside resource, readable inside a page and alone.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace autoccl {

/// Text with &, <, >, " and ' made harmless, for HTML and SVG.
[[nodiscard]] std::string escaped(std::string_view text);

/// Colours that stay apart for colour-blind readers; the first two are "default" and "tuned".
namespace ink {
inline constexpr const char* kDefault = "#7c8798";
inline constexpr const char* kTuned = "#0b6e99";
inline constexpr const char* kAccent = "#d9730d";
inline constexpr const char* kGood = "#3a8f5c";
inline constexpr const char* kBad = "#c4473d";
inline constexpr const char* kLost = "#e5b48a";
inline constexpr const char* kText = "#3b4252";
inline constexpr const char* kFaint = "#e3e7ed";
/// Colour of the i-th of many series.
[[nodiscard]] const char* ofSeries(size_t i);
}  // namespace ink

struct PlotPoint {
  double x = 0, y = 0;
  double low = 0, high = 0;     // whisker; none where low == high
  const char* color = nullptr;  // of this point; nullptr: the series'
  std::string hint = {};        // shown under the pointer
};

struct PlotSeries {
  std::string name;  // empty: not in the legend
  std::vector<PlotPoint> points;
  const char* color = ink::kTuned;
  bool line = true;
  bool dots = true;
  bool dashed = false;
  bool stepped = false;  // the line keeps y until the next x
};

/// A line across the whole plot.
struct PlotRule {
  double at = 0;
  bool vertical = false;
  std::string label;
};

struct Plot {
  std::string title;
  std::string xLabel, yLabel;
  bool xLog = false, yLog = false;  // base 2 and base 10
  bool yFromZero = false;
  std::function<std::string(double)> xTick, yTick;  // texts; by default four digits
  std::vector<double> yTicks;                       // where; by default at round values
  std::vector<PlotSeries> series;
  std::vector<PlotRule> rules;
  double width = 480, height = 290;
};

/// One <svg> element. Points that a logarithmic axis cannot show are left out; a plot with no
/// point says so. Cost: linear in the points.
[[nodiscard]] std::string plotSvg(const Plot& plot);

struct Bar {
  std::string name;
  double value = 0;  // 0..1 of the width
  std::string text;  // behind the bar
  const char* color = ink::kTuned;
};
/// Horizontal bars below each other.
[[nodiscard]] std::string barsSvg(const std::string& title, const std::vector<Bar>& bars);

}  // namespace autoccl
