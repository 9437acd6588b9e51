#include <algorithm>
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

namespace autoccl::cli {
namespace {

struct Options {
  std::string file, other, json;
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
}

}  // namespace autoccl::cli
