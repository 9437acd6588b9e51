#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "cli/bench_options.h"
#include "cli/collective_caller.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/setting_options.h"
#include "cli/sizes.h"
#include "cli/space_probe.h"
#include "cli/sweep.h"
#include "cli/tuned_job.h"
#include "report/run_report.h"
#include "report/summary.h"
#include "tune/policy.h"

namespace autoccl::cli {
namespace {

constexpr int kMaxRanks = 64;
constexpr const char* kBudget = "AUTOCCL_BUDGET";
constexpr const char* kFooter =
    "Calls the given collectives (float32, sum) on N ranks of this host until all are tuned and "
    "saves\n"
    "what was learned, so that programs start with it. Under a program's compute other configs "
    "may\n"
    "win: autoccl run tunes those.";

struct Options {
  int nRanks = 2;
  std::string collectives = "allreduce";
  std::string sizes = "4K:16M:x4";
  std::string buffers = "registered";
  std::string profile, json, report;
  std::string meeting;  // of a rank
  double maxSeconds = 60;
  bool dryRun = false, quiet = false;
  std::shared_ptr<Variables> settings;
};

std::string collectiveNames() {
  std::string names;
  for (const Collective c : sweepCollectives())
    names += (names.empty() ? "" : ", ") + std::string(toText(c));
  return names;
}

std::vector<Collective> collectivesFrom(const std::string& text) {
  std::vector<Collective> found;
  std::istringstream stream(text);
  const auto known = sweepCollectives();
  for (std::string word; std::getline(stream, word, ',');) {
    const auto c = fromText<Collective>(word);
    if (!c || std::find(known.begin(), known.end(), *c) == known.end())
      throw Error(ErrorCode::kUsage, "--collective: '" + word + "' is not allowed",
                  "allowed: " + collectiveNames());
    found.push_back(*c);
  }
  if (found.empty())
    throw Error(ErrorCode::kUsage, "--collective: none is given", "allowed: " + collectiveNames());
  return found;
}

Sweep sweepOf(const Options& o) {
  return {collectivesFrom(o.collectives), sizesFrom(o.sizes), o.buffers == "registered",
          o.maxSeconds};
}

Json spaceJson(const SpaceFacts& facts) {
  Json list = Json::list();
  for (const SubspaceCount& s : facts.subspaces)
    list.add(
        Json::object().add("subspace", s.name).add("configs", s.full).add("thinned", s.thinned));
  return Json::object()
      .add("task", toText(facts.task))
      .add("configs", facts.full())
      .add("thinned", facts.thinned())
      .add("default_us", facts.defaultUs)
      .add("exhaustive_ms", static_cast<double>(facts.full()) * PolicyOptions{}.callsPerTrial *
                                facts.defaultUs * 1e-3)
      .add("subspaces", std::move(list));
}

void dryRun(const Options& o, const Sweep& sweep) {
  const SpaceProbe probe(o.nRanks);
  Json list = Json::list();
  std::string text;
  for (const Collective collective : sweep.collectives)
    for (const uint64_t bytes : sweep.sizes) {
      Task task;
      task.collective = collective;
      task.nRanks = o.nRanks;
      task.bytes = bytes;
      const SpaceFacts facts = probe.facts(task, probe.defaultUs(task));
      text += toText(task) + "\n" + spaceText(facts);
      list.add(spaceJson(facts));
    }
  if (o.json != "-") writeText(text, "-");
  if (!o.json.empty()) writeJson(Json::object().add("tasks", std::move(list)), o.json);
}

void tune(const Options& o) {
  const SweepBlock meeting;
  TunedJobOptions job;
  job.words = {std::filesystem::read_symlink("/proc/self/exe"),
               "tune",
               "--rank-of",
               meeting.path(),
               "--collective",
               o.collectives,
               "--sizes",
               o.sizes,
               "--buffers",
               o.buffers,
               "--max-seconds",
               std::to_string(o.maxSeconds)};
  job.shown = "autoccl tune -n " + std::to_string(o.nRanks) + " --collective " + o.collectives +
              " --sizes " + o.sizes + " --buffers " + o.buffers;
  job.nRanks = o.nRanks;
  job.settings = *o.settings;
  const bool budgeted = std::any_of(job.settings.begin(), job.settings.end(),
                                    [](const auto& v) { return v.first == kBudget; });
  if (!budgeted) job.settings.emplace_back(kBudget, "100");  // there is no program to protect
  job.profile = o.profile;
  job.quiet = o.quiet;
  const TunedJobResult result = runTunedJob(job);
  if (!o.quiet) writeText(summaryText(result.record, terminalWidth()), "-");
  if (!o.json.empty()) writeText(writeRunRecord(result.record), o.json);
  if (!o.report.empty()) writeText(runReportHtml(result.record), o.report);
  if (result.end.status != 0) throw ExitWith{kFailed};
}

void run(const Options& o) {
  const Sweep sweep = sweepOf(o);
  if (!o.meeting.empty()) {
    SweepBlock meeting(o.meeting);
    return runSweepRank(sweep, meeting);
  }
  if (o.dryRun)
    dryRun(o, sweep);
  else
    tune(o);
}

}  // namespace

void addTune(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("-n,--ranks", o->nRanks, "Ranks to start on this host.")
      ->check(CLI::Range(2, kMaxRanks))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--collective", o->collectives,
                 "Which, separated by commas. Allowed: " + collectiveNames() + ".")
      ->capture_default_str()
      ->type_name("WORDS");
  app.add_option("--sizes", o->sizes, "Bytes, as 64K,1M or 1K:128M:x4 (from, to, factor).")
      ->capture_default_str()
      ->type_name("SIZES");
  app.add_option("--buffers", o->buffers, "From acclMemAlloc, or ordinary memory.")
      ->check(CLI::IsMember({"registered", "ordinary"}))
      ->capture_default_str()
      ->type_name("WORD");
  app.add_option("--max-seconds", o->maxSeconds, "Ends the sweep although not all is tuned.")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  app.add_flag("--dry-run", o->dryRun,
               "Tells the spaces and the time an exhaustive search would take; tunes nothing.");
  app.add_option("--profile", o->profile, "Where to save. Default: this machine's file.")
      ->type_name("FILE");
  app.add_option("--json", o->json,
                 "Writes the run's record (or the spaces) as JSON (- is stdout).")
      ->type_name("FILE");
  app.add_option("--report", o->report, "Writes the run's HTML report.")->type_name("FILE");
  app.add_flag("-q,--quiet", o->quiet, "No progress, no table; errors only.");
  app.add_option("--rank-of", o->meeting, "")->group("");  // how this command starts its own ranks
  o->settings = addSettingOptions(app);
  app.footer(kFooter);
  app.callback([o] { run(*o); });
}

}  // namespace autoccl::cli
