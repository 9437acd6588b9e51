// The text of `autoccl settings` and of docs/settings.md.
#pragma once

#include <string>

namespace autoccl::cli {

/// docs/settings.md, made from the settings table.
[[nodiscard]] std::string settingsMarkdown();

/// Throws Error (kUsage) for the first AUTOCCL_* variable that is unknown, with the nearest known
/// name, or whose value is not allowed.
void checkEnvironment();

}  // namespace autoccl::cli
