#include "cli/commands.h"

#include <cstdio>
#include <exception>

#include "base/error.h"

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

int fail(const char* what, int status) {
  std::fprintf(stderr, "autoccl: %s\n", what);
  return status;
}

void addAll(CLI::App& app) {
  app.set_version_flag("--version", "autoccl " AUTOCCL_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.help));
    command.add(*sub);
  }
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
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
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return fail(e.what(), kUsage);
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
