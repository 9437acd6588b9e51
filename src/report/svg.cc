#include "report/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "report/text_table.h"

namespace autoccl {
namespace {

constexpr double kLeft = 58, kRight = 14, kTop = 26, kBottom = 44;
constexpr double kLegendHeight = 22;

std::string num(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + value + "\"";
}

std::string textAt(double x, double y, const std::string& text, const char* anchor = "start",
                   const std::string& more = "") {
  return "<text" + attribute("x", num(x)) + attribute("y", num(y)) +
         attribute("text-anchor", anchor) + more + ">" + escaped(text) + "</text>";
}

std::string lineFrom(double x1, double y1, double x2, double y2, const std::string& stroke,
                     const std::string& more = "") {
  return "<line" + attribute("x1", num(x1)) + attribute("y1", num(y1)) + attribute("x2", num(x2)) +
         attribute("y2", num(y2)) + attribute("stroke", stroke) + more + "/>";
}

std::string openSvg(double width, double height, const std::string& title) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + num(width) + " " +
         num(height) +
         "\" role=\"img\" font-family=\"system-ui,sans-serif\" font-size=\"12\" fill=\"" +
         ink::kText + "\"><title>" + escaped(title) + "</title>" +
         textAt(2, 14, title, "start", " font-size=\"13.5\" font-weight=\"600\"");
}

/// Maps values of one axis to pixels. Spans that are empty get a little room.
class Scale {
 public:
  Scale(double low, double high, bool log, double from, double to)
      : log_(log), from_(from), to_(to) {
    low_ = map(low);
    high_ = map(high);
    if (high_ - low_ < 1e-12) {
      const double room = log ? 1 : std::max(1e-9, std::fabs(low_) * 0.5);
      low_ -= room;
      high_ += room;
    }
  }
  [[nodiscard]] double operator()(double v) const {
    return from_ + (map(v) - low_) / (high_ - low_) * (to_ - from_);
  }
  /// Round values inside, about `wanted` of them.
  [[nodiscard]] std::vector<double> ticks(int wanted, double base) const {
    return log_ ? logTicks(wanted, base) : roundValues(low_, high_, wanted);
  }

 private:
  [[nodiscard]] double map(double v) const { return log_ ? std::log2(v) : v; }
  /// Powers of the base; round values where there would be fewer than three.
  [[nodiscard]] std::vector<double> logTicks(int wanted, double base) const {
    std::vector<double> out;
    const double unit = std::log2(base);
    const double stride = std::max(1.0, std::ceil((high_ - low_) / unit / wanted)) * unit;
    for (double t = std::ceil(low_ / unit - 1e-9) * unit; t <= high_ + 1e-9; t += stride)
      out.push_back(std::exp2(t));
    return out.size() >= 3 ? out : roundValues(std::exp2(low_), std::exp2(high_), wanted);
  }
  [[nodiscard]] static std::vector<double> roundValues(double low, double high, int wanted) {
    const double raw = (high - low) / wanted, power = std::pow(10, std::floor(std::log10(raw)));
    double step = power;
    for (const double m : {1.0, 2.0, 5.0, 10.0})
      if (power * m >= raw) {
        step = power * m;
        break;
      }
    std::vector<double> out;
    for (double t = std::ceil(low / step - 1e-9); t * step <= high + step * 1e-9; ++t)
      out.push_back(t * step);
    return out;
  }

  bool log_;
  double low_ = 0, high_ = 1, from_, to_;
};

bool shown(const Plot& plot, const PlotPoint& p) {
  return std::isfinite(p.x) && std::isfinite(p.y) && (!plot.xLog || p.x > 0) &&
         (!plot.yLog || p.y > 0);
}

/// Pixels above the plot's field: its title, and a legend where a series has a name.
double plotTop(const Plot& plot) {
  const bool named = std::any_of(plot.series.begin(), plot.series.end(),
                                 [](const PlotSeries& s) { return !s.name.empty(); });
  return kTop + (named ? kLegendHeight : 0);
}

struct Extent {
  double low = INFINITY, high = -INFINITY;
  void take(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  [[nodiscard]] bool empty() const { return low > high; }
};

void measure(const Plot& plot, Extent& xs, Extent& ys) {
  for (const PlotSeries& s : plot.series)
    for (const PlotPoint& p : s.points) {
      if (!shown(plot, p)) continue;
      xs.take(p.x);
      ys.take(p.y);
      if (p.low >= p.high) continue;
      if (!plot.yLog || p.low > 0) ys.take(p.low);
      ys.take(p.high);
    }
  if (ys.empty()) return;
  for (const PlotRule& r : plot.rules)
    if (!r.vertical && (!plot.yLog || r.at > 0)) ys.take(r.at);
  if (plot.yFromZero && !plot.yLog) ys.take(0);
  const double room = plot.yLog ? 1.12 : 0.06 * (ys.high - ys.low);
  ys.high = plot.yLog ? ys.high * room : ys.high + room;
  if (plot.yLog)
    ys.low /= room;
  else if (!plot.yFromZero)
    ys.low = ys.low >= 0 ? std::max(0.0, ys.low - room) : ys.low - room;
}

std::string tickText(double v) {
  char text[32];
  const char* form = std::fabs(v) >= 9999.5 && std::fabs(v) < 1e9 ? "%.0f" : "%.4g";
  std::snprintf(text, sizeof text, form, std::fabs(v) < 1e-12 ? 0 : v);
  return text;
}

std::string axes(const Plot& plot, const Scale& x, const Scale& y, double bottom, double right) {
  std::string out;
  const auto text = [](const auto& form, double v) { return form ? form(v) : tickText(v); };
  for (const double t : plot.yTicks.empty() ? y.ticks(5, 10) : plot.yTicks) {
    out += lineFrom(kLeft, y(t), right, y(t), ink::kFaint);
    out += textAt(kLeft - 6, y(t) + 4, text(plot.yTick, t), "end");
  }
  for (const double t : x.ticks(6, 2)) {
    out += lineFrom(x(t), bottom, x(t), bottom + 4, ink::kDefault);
    out += textAt(x(t), bottom + 17, text(plot.xTick, t), "middle");
  }
  out += lineFrom(kLeft, bottom, right, bottom, ink::kDefault);
  out += textAt((kLeft + right) / 2, bottom + 35, plot.xLabel, "middle", " fill-opacity=\"0.8\"");
  const std::string turn =
      " fill-opacity=\"0.8\" transform=\"rotate(-90 12 " + num((kTop + bottom) / 2) + ")\"";
  out += textAt(12, (kTop + bottom) / 2, plot.yLabel, "middle", turn);
  return out;
}

std::string whisker(const Plot& plot, const Scale& y, const PlotPoint& p, double px,
                    const char* color) {
  if (p.low >= p.high || (plot.yLog && p.low <= 0)) return "";
  return lineFrom(px, y(p.low), px, y(p.high), color,
                  " stroke-width=\"1.5\" stroke-opacity=\"0.6\"");
}

std::string drawSeries(const Plot& plot, const PlotSeries& s, const Scale& x, const Scale& y) {
  std::string path, marks;
  double before = 0;
  for (const PlotPoint& p : s.points) {
    if (!shown(plot, p)) continue;
    const double px = x(p.x), py = y(p.y);
    if (s.stepped && !path.empty()) path += " L" + num(px) + " " + num(before);
    path += (path.empty() ? "M" : " L") + num(px) + " " + num(py);
    before = py;
    const char* color = p.color ? p.color : s.color;
    marks += whisker(plot, y, p, px, color);
    if (!s.dots) continue;
    marks += "<circle" + attribute("cx", num(px)) + attribute("cy", num(py)) +
             attribute("r", s.line ? "3" : "2.6") + attribute("fill", color);
    marks += p.hint.empty() ? "/>" : "><title>" + escaped(p.hint) + "</title></circle>";
  }
  if (!s.line || path.empty()) return marks;
  const std::string dash = s.dashed ? " stroke-dasharray=\"5 4\"" : "";
  return "<path" + attribute("d", path) +
         " fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\"" +
         attribute("stroke", s.color) + dash + "/>" + marks;
}

std::string drawRules(const Plot& plot, const Scale& x, const Scale& y, double bottom,
                      double right) {
  std::string out;
  const std::string dash = " stroke-dasharray=\"3 3\"";
  for (const PlotRule& r : plot.rules) {
    if (r.vertical) {
      const double px = x(r.at);
      if (!(px >= kLeft && px <= right)) continue;
      out += lineFrom(px, plotTop(plot), px, bottom, ink::kAccent, dash);
      const bool left = px > (kLeft + right) / 2;
      out += textAt(px + (left ? -5 : 5), plotTop(plot) + 11, r.label, left ? "end" : "start",
                    attribute("fill", ink::kAccent));
    } else if (!plot.yLog || r.at > 0) {
      out += lineFrom(kLeft, y(r.at), right, y(r.at), ink::kAccent, dash);
      out += textAt(right, y(r.at) - 4, r.label, "end", attribute("fill", ink::kAccent));
    }
  }
  return out;
}

std::string legend(const Plot& plot) {
  std::string out;
  double at = kLeft;
  for (const PlotSeries& s : plot.series) {
    if (s.name.empty()) continue;
    out += "<rect" + attribute("x", num(at)) + " y=\"27\" width=\"12\" height=\"4\" rx=\"2\"" +
           attribute("fill", s.color) + "/>" + textAt(at + 17, 33, s.name);
    at += 30 + 6.4 * static_cast<double>(displayWidth(s.name));
  }
  return out;
}

}  // namespace

const char* ink::ofSeries(size_t i) {
  constexpr std::array kMany{"#0b6e99", "#d9730d", "#3a8f5c", "#8a4fbf", "#c4473d", "#5c7a29"};
  return kMany[i % kMany.size()];
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string plotSvg(const Plot& plot) {
  const double right = plot.width - kRight, bottom = plot.height - kBottom;
  std::string out = openSvg(plot.width, plot.height, plot.title);
  Extent xs, ys;
  measure(plot, xs, ys);
  if (xs.empty())
    return out + textAt(plot.width / 2, plot.height / 2, "nothing was measured", "middle") +
           "</svg>\n";
  const Scale x(xs.low, xs.high, plot.xLog, kLeft + 8, right - 8);
  const Scale y(ys.low, ys.high, plot.yLog, bottom, plotTop(plot));
  out += axes(plot, x, y, bottom, right);
  for (const PlotSeries& s : plot.series) out += drawSeries(plot, s, x, y);
  return out + drawRules(plot, x, y, bottom, right) + legend(plot) + "</svg>\n";
}

std::string barsSvg(const std::string& title, const std::vector<Bar>& bars) {
  constexpr double kWidth = 480, kRow = 26, kBarFrom = 70, kBarTo = 330;
  const double height = 36 + kRow * static_cast<double>(bars.size());
  std::string out = openSvg(kWidth, height, title);
  double y = 30;
  for (const Bar& bar : bars) {
    const double length = (kBarTo - kBarFrom) * std::clamp(bar.value, 0.0, 1.0);
    const std::string place =
        attribute("x", num(kBarFrom)) + attribute("y", num(y)) + " height=\"16\" rx=\"3\"";
    out += textAt(kBarFrom - 8, y + 12.5, bar.name, "end");
    out += "<rect" + place + attribute("width", num(kBarTo - kBarFrom)) +
           attribute("fill", ink::kFaint) + "/>";
    out += "<rect" + place + attribute("width", num(length)) + attribute("fill", bar.color) + "/>";
    out += textAt(kBarTo + 10, y + 12.5, bar.text);
    y += kRow;
  }
  return out + "</svg>\n";
}

}  // namespace autoccl
