// Which file a plugin's name means, by release.
#pragma once

#include <string>
#include <vector>

#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {

enum class Plugin { kTuner, kProfiler, kEnv };

/// The arguments that dlopen is given, in order, until one opens. "" stands for NULL: the program's
/// own symbols. `name` is the variable's value; null: not set.
[[nodiscard]] std::vector<std::string> pluginFiles(const Release& release, Plugin kind,
                                                   const char* name);

/// Opens the first that can be opened, or returns null. "none" opens nothing.
[[nodiscard]] void* openPlugin(Plugin kind, const char* name);

}  // namespace autoccl::nccl_double
