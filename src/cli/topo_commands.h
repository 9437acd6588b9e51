// The parts of `autoccl topo`, one file each, and what they share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "topo/host.h"

namespace autoccl::cli {

void addTopoShow(CLI::App& app);
void addTopoLint(CLI::App& app);
void addTopoExport(CLI::App& app);
void addTopoPlan(CLI::App& app);
void addTopoPlatforms(CLI::App& app);

/// This machine by /sys and, where there is one, NVML. With `sysRoot` the saved tree below it.
[[nodiscard]] topo::Host liveHost(const std::string& sysRoot);

/// Reads each file and calls `work` with its name and content. A file that cannot be read, and one
/// whose work throws Error, gets one line on stderr and the others go on; afterwards, if there was
/// such a file, throws ExitWith{kUsage}.
void eachTopoFile(
    const std::vector<std::string>& files,
    const std::function<void(const std::string& file, const std::string& text)>& work);

}  // namespace autoccl::cli
