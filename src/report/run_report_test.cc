#include "report/run_report.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "report/svg.h"
#include "report/task_plots.h"
#include "store/testing/sample_record.h"

namespace autoccl {
namespace {

size_t countOf(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

RunRecord hostileRecord() {
  RunRecord r = sampleRecord();
  r.command = "./train --name \"<script>alert(1)</script>\" && 'x'";
  r.tasks[0].decidedBy = "</dd><img src=http://example.org/x>";
  r.notes = {"<b>bold</b> & more"};
  return r;
}

/// The document as headless Chromium understands it, for a window of that width.
std::string rendered(const std::string& html, int width) {
  const std::string folder = testing::TempDir() + "autoccl-report-" + std::to_string(width);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/r.html") << html;
  const std::string call =
      "timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir=" + folder +
      "/user --window-size=" + std::to_string(width) + ",1000 --dump-dom file://" + folder +
      "/r.html >" + folder + "/dom 2>" + folder + "/log";
  const int status = std::system(call.c_str());
  EXPECT_EQ(status, 0) << "chromium is needed: apt install chromium";
  std::ifstream dom(folder + "/dom");
  std::string text((std::istreambuf_iterator<char>(dom)), {});
  std::filesystem::remove_all(folder);
  return text;
}

TEST(RunReport, ChromiumShowsEverySectionAndPlot) {
  const std::string dom = rendered(runReportHtml(sampleRecord()), 1100);
  for (const char* id : {"findings", "sizes", "steps", "ranks", "search", "fits", "tasks"})
    EXPECT_EQ(countOf(dom, std::string("<section id=\"") + id + "\">"), 1u) << id;
  // Sizes 2, steps 2, ranks 2, and for each of three tasks convergence, NC, NT and C.
  EXPECT_EQ(countOf(dom, "<svg "), 18u);
  EXPECT_EQ(countOf(dom, "</svg>"), 18u);
  EXPECT_EQ(countOf(dom, "<details"), 3u);
  EXPECT_NE(dom.find("1.45x (1.41-1.49)"), dom.npos);
  EXPECT_NE(dom.find("rank 1 dropped 2 samples"), dom.npos);
  EXPECT_NE(dom.find("asymptotic GB/s"), dom.npos);
}

TEST(RunReport, TextFromARecordStaysText) {
  const std::string dom = rendered(runReportHtml(hostileRecord()), 400);
  EXPECT_EQ(countOf(dom, "<script"), 0u);
  EXPECT_EQ(countOf(dom, "<img"), 0u);
  EXPECT_NE(dom.find("&lt;script&gt;alert(1)"), dom.npos);
  EXPECT_NE(dom.find("&lt;b&gt;bold&lt;/b&gt; &amp; more"), dom.npos);
}

TEST(RunReport, EveryVerdictHasItsColourInTheSearchsPath) {
  RunRecord record = sampleRecord();
  record.tasks.resize(1);
  record.tasks[0].history[4].verdict = "rejected";
  const std::string page = runReportHtml(record);
  // Once in the convergence and once in each of the three paths; grey also draws other things.
  const auto dots = [&](const char* color) {
    size_t found = 0;
    const std::string mark = std::string("fill=\"") + color + "\"";
    for (size_t at = page.find(mark); at != page.npos; at = page.find(mark, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(dots(ink::kLost), 4u);
  EXPECT_EQ(dots(ink::kBad), 4u);
  EXPECT_GE(dots(ink::kDefault), 4u);
}

TEST(RunReport, OnlyMeasuredTasksOfSeveralSizesAreDrawnBySize) {
  RunRecord record = sampleRecord();
  record.tasks[0].defaultUs = 0;
  TaskRecord other = record.tasks[1];
  other.task.collective = Collective::kBroadcast;
  record.tasks.push_back(other);
  auto lines = sizeLines(record);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].tasks.size(), 2u);
  record.tasks = {other};
  EXPECT_EQ(sizeLines(record).size(), 1u) << "a run of one size still shows it";
}

TEST(RunReport, NothingIsCalledBestBeforeAnythingWasDecided) {
  RunRecord record = sampleRecord();
  for (TaskRecord& t : record.tasks) t.confirmSamples = 0;
  EXPECT_NE(runReportHtml(record).find("no task has come to a decision"), std::string::npos);
}

TEST(RunReport, WhereNothingWasTunedTheStepIsNeitherGoodNorBad) {
  RunRecord record = sampleRecord();
  EXPECT_NE(runReportHtml(record).find("card good\"><div class=\"name\">Step time"),
            std::string::npos);
  for (TaskRecord& t : record.tasks) t.config = t.defaultConfig;
  EXPECT_NE(runReportHtml(record).find("all by the default, so this is chance"), std::string::npos);
}

TEST(RunReport, NothingIsLoadedFromOutside) {
  const std::string html = runReportHtml(sampleRecord());
  EXPECT_EQ(countOf(html, "http"), countOf(html, "xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* part : {"src=", "url(", "@import", "<link", "<script"})
    EXPECT_EQ(countOf(html, part), 0u) << part;
}

TEST(RunReport, AnEmptyOrUnfinishedRecordStillMakesAPage) {
  const std::string empty = runReportHtml(RunRecord{});
  EXPECT_NE(empty.find("no steps were seen"), empty.npos);
  RunRecord record = sampleRecord();
  record.steps.clear();
  record.tasks[0].history.clear();
  record.tasks[1].defaultUs = record.tasks[1].tunedUs = 0;
  const std::string html = runReportHtml(record);
  EXPECT_EQ(html.find("nan"), html.npos);
  EXPECT_EQ(html.find("inf<"), html.npos);
}

}  // namespace
}  // namespace autoccl
