// Options of a command that stand for a variable of the settings table.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/launch.h"

namespace autoccl::cli {

/// Adds --policy, --objective, --budget, --config, --wait, --seed, --deterministic and --check to a
/// command. Each takes what its variable allows and its help is the row's effect; afterwards the
/// returned list holds the variables that were given on the command line.
[[nodiscard]] std::shared_ptr<Variables> addSettingOptions(CLI::App& app);

}  // namespace autoccl::cli
