#include "report/svg.h"

#include <gtest/gtest.h>

#include <cmath>

namespace autoccl {
namespace {

size_t countOf(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Plot samplePlot() {
  Plot plot;
  plot.title = "a <b> & c";
  plot.xLog = plot.yLog = true;
  plot.series = {{"one", {{1024, 1}, {4096, 3, 2, 4}, {65536, 10, 0, 0, nullptr, "hint & more"}}}};
  return plot;
}

TEST(Svg, EveryPointIsDrawnAndTextIsEscaped) {
  const std::string svg = plotSvg(samplePlot());
  EXPECT_EQ(countOf(svg, "<circle"), 3u);
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; c"), svg.npos);
  EXPECT_NE(svg.find("hint &amp; more"), svg.npos);
  EXPECT_EQ(svg.find("<b>"), svg.npos);
}

TEST(Svg, WhatAnAxisCannotShowIsLeftOut) {
  Plot plot = samplePlot();
  plot.series[0].points.push_back({0, 1});
  plot.series[0].points.push_back({1024, -1});
  plot.series[0].points.push_back({NAN, 1});
  const std::string svg = plotSvg(plot);
  EXPECT_EQ(countOf(svg, "<circle"), 3u);
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_EQ(svg.find("inf"), svg.npos);
}

TEST(Svg, DegenerateDataStillMakesAPlot) {
  for (const bool log : {false, true}) {
    Plot plot = samplePlot();
    plot.xLog = plot.yLog = log;
    plot.series[0].points = {{5, 5}};
    const std::string svg = plotSvg(plot);
    EXPECT_EQ(countOf(svg, "<circle"), 1u);
    EXPECT_EQ(svg.find("nan"), svg.npos) << svg;
    plot.series[0].points = {{0, 0}, {1, 0}};
    EXPECT_EQ(plotSvg(plot).find("nan"), svg.npos);
  }
  Plot empty;
  EXPECT_NE(plotSvg(empty).find("nothing was measured"), std::string::npos);
}

TEST(Svg, BarsStayInsideTheirFrame) {
  const std::string svg = barsSvg("t", {{"a", 2.0, "x"}, {"b", -1.0, "y"}});
  EXPECT_EQ(countOf(svg, "width=\"260.0\""), 3u) << svg;
  EXPECT_EQ(countOf(svg, "width=\"0.0\""), 1u);
}

}  // namespace
}  // namespace autoccl
