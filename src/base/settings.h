// The settings table: every environment variable of AutoCCL is one row. It makes the parser, the
// text of `autoccl settings` and docs/settings.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace autoccl {

struct SettingRow {
  std::string_view name;      // "AUTOCCL_BUDGET"
  std::string_view type;      // "number", "size", "choice", "text", "switch"
  std::string_view unit;      // "%", "ms", "bytes", ""
  std::string_view fallback;  // as a user would write it
  std::string_view allowed;   // "0..100"; for a choice its words separated by '|'
  std::string_view effect;    // one sentence
  std::string_view since;     // "0.1"
};

/// All rows, in the order they are shown.
[[nodiscard]] const std::vector<SettingRow>& settingRows();

/// A value and where it came from. Reads the environment each time; callers keep what they read.
/// A variable set to nothing counts as unset. A value outside the row's allowed ones throws Error
/// that names the variable and the allowed values; so do settingNumber and settingSize of a
/// variable that is unset and has no default.
struct Setting {
  std::string value;
  bool fromEnvironment = false;
};
[[nodiscard]] Setting setting(std::string_view name);
[[nodiscard]] double settingNumber(std::string_view name);
[[nodiscard]] uint64_t settingSize(std::string_view name);
[[nodiscard]] bool settingSwitch(std::string_view name);
[[nodiscard]] std::string settingText(std::string_view name);

/// Whether that variable may have this value, which an option of a command sets. The row's allowed
/// values, with their unit, are what to tell the user otherwise.
[[nodiscard]] bool settingAllows(std::string_view name, const std::string& value);
[[nodiscard]] std::string settingAllowedText(std::string_view name);

/// Names of AUTOCCL_* variables in the environment that no row knows.
[[nodiscard]] std::vector<std::string> unknownSettings();

}  // namespace autoccl
