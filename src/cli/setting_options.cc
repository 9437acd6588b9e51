#include "cli/setting_options.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/settings.h"
#include "model/config.h"

namespace autoccl::cli {
namespace {

struct SettingOption {
  const char* option;
  const char* variable;
};
constexpr std::array<SettingOption, 8> kOptions{{
    {"--policy", "AUTOCCL_POLICY"},
    {"--objective", "AUTOCCL_OBJECTIVE"},
    {"--budget", "AUTOCCL_BUDGET"},
    {"--config", "AUTOCCL_CONFIG"},
    {"--wait", "AUTOCCL_WAIT"},
    {"--seed", "AUTOCCL_SEED"},
    {"--deterministic", "AUTOCCL_DETERMINISTIC"},
    {"--check", "AUTOCCL_CHECK"},
}};

const SettingRow& rowOf(std::string_view variable) {
  const auto& rows = settingRows();
  return *std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == variable; });
}

/// What is wrong with the value, in CLI11's way; empty where nothing is.
std::string refusal(const SettingRow& row, const std::string& value) {
  if (!settingAllows(row.name, value))
    return "'" + value + "' is not allowed; allowed: " + settingAllowedText(row.name);
  if (row.name != "AUTOCCL_CONFIG") return "";
  try {
    (void)parseConfig(value);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace

std::shared_ptr<Variables> addSettingOptions(CLI::App& app) {
  auto given = std::make_shared<Variables>();
  for (const auto& [option, variable] : kOptions) {
    const SettingRow& row = rowOf(variable);
    if (row.type == "switch") {
      const auto set = [given, name = row.name](int64_t) { given->emplace_back(name, "1"); };
      app.add_flag_function(option, set, std::string(row.effect));
      continue;
    }
    const auto set = [given, name = row.name](const std::string& v) {
      given->emplace_back(name, v);
    };
    const std::string allowed =
        row.type == "text" ? "" : " Allowed: " + settingAllowedText(row.name) + ".";
    app.add_option_function<std::string>(option, set, std::string(row.effect) + allowed)
        ->type_name(row.type == "number" ? "N" : "WORD")
        ->check(CLI::Validator([&row](const std::string& v) { return refusal(row, v); }, ""));
  }
  return given;
}

}  // namespace autoccl::cli
