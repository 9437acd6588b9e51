#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/setting_options.h"
#include "cli/tuned_job.h"
#include "model/variant.h"
#include "report/run_report.h"
#include "report/summary.h"

namespace autoccl::cli {
namespace {

constexpr int kMaxRanks = 4096;
constexpr const char* kFooter =
    "With -n, starts N ranks on this host, each on its own cores, and ends them all when one "
    "fails.\n"
    "Without -n, starts CMD once: a launcher (autoccl run -- mpirun -np 8 ./train) or, under one,\n"
    "a rank (mpirun -np 8 autoccl run -- ./train). NCCL programs: autoccl run -- torchrun ….\n"
    "Exit status: the job's, that is the first failing rank's, or 128 + its signal; 2 for bad "
    "usage.\n"
    "The table goes to stderr, so that stdout is the program's own.";

struct Options {
  TunedJobOptions job;
  std::string json, report;
  bool noTune = false, noProfile = false, noPin = false;
  std::shared_ptr<Variables> settings;
};

void run(Options& options) {
  options.job.settings = *options.settings;
  options.job.tune = !options.noTune;
  options.job.useProfile = !options.noProfile && options.job.tune;
  options.job.pin = !options.noPin;
  const TunedJobResult result = runTunedJob(options.job);
  if (result.leads) {
    if (!options.job.quiet) std::fputs(("\n" + summaryText(result.record)).c_str(), stderr);
    if (!options.json.empty()) writeText(writeRunRecord(result.record), options.json);
    if (!options.report.empty()) writeText(runReportHtml(result.record), options.report);
  }
  if (result.end.status != 0) {
    if (options.job.quiet) std::fprintf(stderr, "autoccl: %s\n", result.end.text().c_str());
    throw ExitWith{result.end.status};
  }
}

void addJobOptions(CLI::App& app, Options& o) {
  app.add_option("-n,--ranks", o.job.nRanks, "Ranks to start on this host.")
      ->check(CLI::Range(1, kMaxRanks))
      ->type_name("N");
  app.add_option("--engine", o.job.engine,
                 "What carries the collectives out: our own library on host memory (cpu) or the "
                 "program's NCCL, into which our library is preloaded (nccl). Default: auto, nccl "
                 "where CMD names libnccl or this host has a GPU. Allowed: auto|cpu|nccl.")
      ->check(CLI::IsMember({"auto", "cpu", "nccl"}))
      ->type_name("WORD");
  app.add_option("--timeout", o.job.timeoutSeconds, "Ends the job after this many seconds.")
      ->check(CLI::Range(0.001, 1e9))
      ->type_name("SECONDS");
  app.add_flag("--prefix", o.job.prefixed, "Begins each line of output with [rank].");
  app.add_flag("--no-pin", o.noPin, "Leaves ranks on all cores.");
  app.add_flag("--no-tune", o.noTune, "Starts the job untouched, for comparison.");
  app.add_flag("-q,--quiet", o.job.quiet, "No progress, no table; errors only.");
}

void addVariants(CLI::App& app, const std::shared_ptr<Variables>& settings) {
  const auto set = [settings](const std::string& words) {
    settings->emplace_back("AUTOCCL_VARIANTS", words);
  };
  const auto refusal = [](const std::string& words) {
    const std::string_view word = unknownVariantWord(words);
    return word.empty() ? ""
                        : "'" + std::string(word) +
                              "' is not allowed; allowed: " + std::string(kVariantWords);
  };
  app.add_option_function<std::string>(
         "--variants", set,
         "NCCL programs: also tries what NCCL fixes when it makes a communicator, on further "
         "communicators made beside each of the program's. Allowed, between commas: " +
             std::string(kVariantWords) + ".")
      ->type_name("WORDS")
      ->check(CLI::Validator(refusal, ""));
}

}  // namespace

void addRun(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  o->job.engine = "auto";
  addJobOptions(app, *o);
  app.add_option("--profile", o->job.profile,
                 "What earlier runs learned: read at start, saved at the end. Default: this "
                 "machine's file below ~/.local/state/autoccl.")
      ->type_name("FILE");
  app.add_flag("--no-profile", o->noProfile, "Neither reads nor saves a profile.");
  app.add_option("--json", o->json, "Writes the run's record into FILE (- is stdout).")
      ->type_name("FILE");
  app.add_option("--report", o->report, "Writes the run's HTML report into FILE.")
      ->type_name("FILE");
  o->settings = addSettingOptions(app);
  addVariants(app, o->settings);
  app.add_option("CMD", o->job.words, "The program and its arguments, after --.")
      ->required()
      ->type_name("CMD...");
  app.footer(kFooter);
  app.callback([o] { run(*o); });
}

}  // namespace autoccl::cli
