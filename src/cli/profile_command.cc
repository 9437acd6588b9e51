#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/learned.h"
#include "cli/output.h"
#include "cli/profile_checks.h"
#include "report/summary.h"
#include "report/text_table.h"
#include "store/json.h"
#include "store/machine.h"
#include "store/nccl/exchange.h"

namespace autoccl::cli {
namespace {

struct Options {
  std::string file, other, json, format = "nccl-rules", out = "-";
  int ranks = 0;
};

std::string profileTable(const Profile& profile) {
  TextTable table({{"task"},
                   {"default us", true},
                   {"tuned us", true},
                   {"gain (95 %)"},
                   {"samples", true},
                   {"date"},
                   {"config"}});
  for (const ProfileEntry& e : profile.entries)
    table.row({toText(e.task), figure(e.defaultUs), figure(e.tunedUs),
               gainText(e.gain, e.gainLow, e.gainHigh, e.samples > 0), std::to_string(e.samples),
               e.date, toText(e.config)});
  return table.text(terminalWidth());
}

void show(const Options& o) {
  const std::string path = profilePathOr(o.file);
  const Profile profile = readProfileFile(path);
  if (!o.json.empty()) return writeText(writeProfile(profile), o.json);
  writeText(path + "\nmachine " + profile.machine + ": " + profile.machineText + "\n\n" +
                profileTable(profile),
            "-");
}

void report(const std::vector<std::string>& findings, const std::string& json, const char* none) {
  Json list = Json::list();
  std::string text;
  for (const std::string& f : findings) {
    list.add(f);
    text += f + "\n";
  }
  if (!json.empty()) writeJson(Json::object().add("findings", std::move(list)), json);
  if (json != "-") writeText(text.empty() ? none : text, "-");
  if (!findings.empty()) throw ExitWith{kFindings};
}

void lint(const Options& o) {
  const Profile profile = readProfileFile(o.file);
  report(profileFindings(profile, fingerprintOf(readMachine()), "autoccl " AUTOCCL_VERSION), o.json,
         "nothing to say against it\n");
}

void diff(const Options& o) {
  report(profileDifferences(readProfileFile(o.file), readProfileFile(o.other)), o.json,
         "the same choices\n");
}

/// A form in which NCCL can be given what was learned.
struct ExportFormat {
  std::string_view name;
  std::string (*write)(const Profile& profile);
};

std::string writeNcclRules(const Profile& profile) {
  std::vector<std::string> left;
  const std::vector<nccl::Rule> rules = nccl::rulesOf(profile, left);
  for (const std::string& reason : left) std::fprintf(stderr, "no rule: %s\n", reason.c_str());
  return nccl::writeRules(rules);
}

constexpr std::array<ExportFormat, 3> kExportFormats = {{{"nccl-rules", writeNcclRules},
                                                         {"nccl-env", nccl::environmentOf},
                                                         {"nccl-call", nccl::callConfigsOf}}};

void exportTo(const Options& o) {
  std::string known;
  for (const ExportFormat& f : kExportFormats) {
    if (f.name == o.format)
      return writeText(f.write(readProfileFile(profilePathOr(o.file))), o.out);
    known += (known.empty() ? "" : ", ") + std::string(f.name);
  }
  throw Error(ErrorCode::kUsage, "--format: '" + o.format + "' is not known", "known are " + known);
}

/// Choices to be tried first; whatever was measured already stays.
void importFrom(const Options& o) {
  const Machine machine = readMachine();
  const std::string path = profilePathOr(o.out == "-" ? "" : o.out);
  LoadedProfile loaded = loadProfile(path, fingerprintOf(machine), toText(machine));
  if (!loaded.note.empty()) throw Error(ErrorCode::kInput, loaded.note, "give another --output");
  const auto rules = nccl::readRules(readInput(o.file), o.file);
  int taken = 0;
  for (const ProfileEntry& e : nccl::entriesOf(rules, o.ranks, "imported from " + o.file)) {
    if (loaded.profile.find(e.task) != nullptr) continue;
    loaded.profile.entries.push_back(e);
    ++taken;
  }
  saveProfile(loaded.profile, path);
  writeText(std::to_string(rules.size()) + " rules gave " + std::to_string(taken) +
                " choices to try first, in " + path + "\n",
            "-");
}

void addExchange(CLI::App& app, const std::shared_ptr<Options>& o) {
  CLI::App* exporting = app.add_subcommand("export", "Write what was won in a form NCCL takes.");
  exporting->add_option("FILE", o->file, "Default: this machine's profile.")->type_name("FILE");
  exporting
      ->add_option("--format", o->format,
                   "nccl-rules (CSV of NCCL's example tuner), nccl-env (NCCL_ALGO and NCCL_PROTO), "
                   "nccl-call (selections for NCCL 2.31's per-call configs).")
      ->capture_default_str()
      ->type_name("FORMAT");
  exporting->add_option("--output", o->out, "Default: stdout (-).")->type_name("FILE");
  exporting->callback([o] { exportTo(*o); });
  CLI::App* importing = app.add_subcommand(
      "import", "Take a tuner's rule file (CSV) into a profile, as choices to try first.");
  importing->add_option("FILE", o->file, "The rules.")->required()->type_name("FILE");
  importing->add_option("--ranks", o->ranks, "For rules that hold for any number of ranks.")
      ->type_name("N");
  importing->add_option("--output", o->out, "The profile. Default: this machine's.")
      ->type_name("FILE");
  importing->callback([o] { importFrom(*o); });
}

void addJson(CLI::App& app, Options& o) {
  app.add_option("--json", o.json, "Writes the result as JSON (- is stdout, instead of text).")
      ->type_name("FILE");
}

}  // namespace

void addProfile(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.require_subcommand(1);
  CLI::App* showing = app.add_subcommand("show", "Print a profile's choices.");
  showing->add_option("FILE", o->file, "Default: this machine's profile.")->type_name("FILE");
  CLI::App* linting =
      app.add_subcommand("lint", "Look for what is wrong or doubtful; exit 3 if there is any.");
  linting->add_option("FILE", o->file, "Default: this machine's profile.")->type_name("FILE");
  CLI::App* comparing =
      app.add_subcommand("diff", "Tell where two profiles differ; exit 3 if they do.");
  comparing->add_option("FILE", o->file, "The old one.")->required()->type_name("FILE");
  comparing->add_option("OTHER", o->other, "The new one.")->required()->type_name("FILE");
  for (CLI::App* sub : {showing, linting, comparing}) addJson(*sub, *o);
  showing->callback([o] { show(*o); });
  linting->callback([o] { lint(*o); });
  comparing->callback([o] { diff(*o); });
  addExchange(app, o);
}

}  // namespace autoccl::cli
