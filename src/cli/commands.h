// The commands of `autoccl`: one file each, one line each in the table of commands.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace autoccl::cli {

/// Exit statuses, the same for every command (documented in docs/cli.md).
enum Exit : int { kDone = 0, kFailed = 1, kUsage = 2, kFindings = 3 };

/// `add` puts the command's options on its CLI11 app and sets the callback that does the work. A
/// callback throws Error for what the user must hear, and ends with another status than kDone by
/// throwing ExitWith.
struct Command {
  std::string_view name;
  std::string_view help;
  void (*add)(CLI::App& app);
};
[[nodiscard]] const std::vector<Command>& commands();

struct ExitWith {
  int status = kDone;
};

/// docs/cli.md: the help of every command.
[[nodiscard]] std::string helpMarkdown();

/// Parses and runs. Errors go to stderr, one line each. Never throws.
[[nodiscard]] int runCommandLine(int argc, const char* const* argv) noexcept;

void addDoctor(CLI::App& app);
void addExplain(CLI::App& app);
void addProfile(CLI::App& app);
void addReport(CLI::App& app);
void addRun(CLI::App& app);
void addBench(CLI::App& app);
void addSim(CLI::App& app);
void addTopo(CLI::App& app);
void addTune(CLI::App& app);
void addSettings(CLI::App& app);

}  // namespace autoccl::cli
