#include "cli/commands.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>

#include "base/error.h"
#include "cli/help_format.h"

namespace autoccl::cli {
namespace {

constexpr const char* kAbout =
    "Makes the collectives of a distributed program faster while it runs.\n"
    "First try:  autoccl run -n 2 -- ./program";
constexpr const char* kFooter =
    "Exit status: 0 done, 1 the work failed, 2 usage or unreadable input, 3 findings.\n"
    "Variables: autoccl settings.";

int statusOf(const Error& error) {
  const bool input = error.code() == ErrorCode::kUsage || error.code() == ErrorCode::kInput;
  return input ? kUsage : kFailed;
}

int fail(const std::string& what, int status) {
  std::fprintf(stderr, "autoccl: %s\n", what.c_str());
  return status;
}

bool isCommand(std::string_view name) {
  const auto& table = commands();
  return std::any_of(table.begin(), table.end(), [&](const auto& c) { return c.name == name; });
}

/// What CLI11 says, and where to read on.
std::string usageText(const CLI::ParseError& error, const std::string& first) {
  if (isCommand(first)) return std::string(error.what()) + "; see autoccl " + first + " --help";
  std::string names;
  for (const Command& command : commands())
    names += (names.empty() ? "" : ", ") + std::string(command.name);
  if (first.empty()) return "a command is needed; allowed: " + names;
  if (first[0] == '-') return std::string(error.what()) + "; see autoccl --help";
  return "unknown command '" + first + "'; allowed: " + names;
}

void addAll(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormat>());
  app.set_version_flag("--version", "autoccl " AUTOCCL_VERSION);
  app.add_flag_callback(
         "--help-markdown", [] { throw CLI::CallForAllHelp(); }, "")
      ->group("");
  app.require_subcommand(1);
  app.footer(kFooter);
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.help));
    command.add(*sub);
  }
}

void appendHelp(const CLI::App& app, const std::string& above, std::string& out) {
  const std::string name = above.empty() ? app.get_name() : above + " " + app.get_name();
  out += "\n## " + name + "\n\n```\n" + app.help(above) + "```\n";
  for (const CLI::App* sub : app.get_subcommands(nullptr)) appendHelp(*sub, name, out);
}

}  // namespace

std::string helpMarkdown() {
  CLI::App app{kAbout, "autoccl"};
  addAll(app);
  std::string out =
      "# The command line\n\nWhat `--help` prints for every command; made by `autoccl "
      "--help-markdown`, and a test holds that\nit is current. `docs/formats.md` has the files and "
      "JSON documents.\n";
  appendHelp(app, "", out);
  return out;
}

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
      {"run", "Start a program and tune its collectives while it runs.", addRun},
      {"bench", "Measure collectives: default, tuned, other libraries, the host's limit.",
       addBench},
      {"doctor", "Say what is wrong with a machine's or a job's settings, and what to change.",
       addDoctor},
      {"explain", "Tell why a task runs as it does: default, winner, runner-ups, phases.",
       addExplain},
      {"profile", "Show, check or compare what was learned on a machine.", addProfile},
      {"report", "Make one HTML page of a run's record.", addReport},
      {"sim", "Tell what a library would choose on a described cluster (simulated).", addSim},
      {"topo", "Show, check, plan and export a machine's topology and fabric.", addTopo},
      {"tune", "Tune given collectives and sizes now, for programs to come.", addTune},
      {"settings", "Print every variable: value, source, default, what is allowed, effect.",
       addSettings},
  };
  return table;
}

int runCommandLine(int argc, const char* const* argv) noexcept try {
  CLI::App app{kAbout, "autoccl"};
  addAll(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp&) {
    std::fputs(helpMarkdown().c_str(), stdout);
    return kDone;
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return fail(usageText(e, argc > 1 ? argv[1] : ""), kUsage);
  }
  return kDone;
} catch (const ExitWith& e) {
  return e.status;
} catch (const Error& e) {
  return fail(e.what(), statusOf(e));
} catch (const std::exception& e) {
  return fail(e.what(), kFailed);
} catch (...) {
  return fail("unknown failure", kFailed);
}

}  // namespace autoccl::cli
