#include <memory>

#include "cli/commands.h"
#include "cli/learned.h"
#include "cli/output.h"
#include "report/figures.h"
#include "report/run_report.h"

namespace autoccl::cli {
namespace {

struct Options {
  std::string record, output = "report.html", json;
};

Json ratesJson(const TaskRecord& t) {
  const Rates before = ratesOf(t.task, t.defaultUs), after = ratesOf(t.task, t.tunedUs);
  return Json::object()
      .add("task", toText(t.task))
      .add("default_algbw_GBps", before.algbw)
      .add("default_busbw_GBps", before.busbw)
      .add("tuned_algbw_GBps", after.algbw)
      .add("tuned_busbw_GBps", after.busbw);
}

Json fitJson(const LatencyFit& f) {
  return Json::object()
      .add("collective", toText(f.collective))
      .add("algorithm", toText(f.algorithm))
      .add("ranks", f.nRanks)
      .add("sizes", f.sizes)
      .add("alpha_us", f.alphaUs)
      .add("bandwidth_GBps", f.bandwidthGBps)
      .add("half_bytes", f.halfBytes)
      .add("residual", f.residual);
}

Json figuresJson(const RunRecord& record) {
  Json rates = Json::list(), fits = Json::list(), findings = Json::list();
  for (const TaskRecord& t : record.tasks) rates.add(ratesJson(t));
  for (const LatencyFit& f : latencyFits(record)) fits.add(fitJson(f));
  for (const std::string& finding : contradictions(record)) findings.add(finding);
  return Json::object()
      .add("tasks", std::move(rates))
      .add("fits", std::move(fits))
      .add("findings", std::move(findings));
}

void run(const Options& o) {
  const RunRecord record = readRecordFile(o.record);
  writeText(runReportHtml(record), o.output);
  if (!o.json.empty()) writeJson(figuresJson(record), o.json);
}

}  // namespace

void addReport(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("RECORD", o->record, "What autoccl run --json wrote.")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", o->output, "The page to write (- is stdout).")
      ->capture_default_str()
      ->type_name("FILE");
  app.add_option("--json", o->json,
                 "Also writes bandwidths, fits and findings as JSON (- is stdout).")
      ->type_name("FILE");
  app.callback([o] { run(*o); });
}

}  // namespace autoccl::cli
