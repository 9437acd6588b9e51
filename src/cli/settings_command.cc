#include "cli/settings_command.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/settings.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "report/text_table.h"

namespace autoccl::cli {
namespace {

struct Options {
  std::string json;
  bool markdown = false;
};

std::string valueText(const SettingRow& row) {
  try {
    const Setting s = setting(row.name);
    return s.value;
  } catch (const Error&) {
    return std::getenv(std::string(row.name).c_str());
  }
}

bool isSet(const SettingRow& row) {
  const char* value = std::getenv(std::string(row.name).c_str());
  return value != nullptr && *value != '\0';
}

std::string orDash(std::string_view text) {
  return text.empty() ? "-" : std::string(text);
}

TextTable table() {
  TextTable t({{"name"}, {"value"}, {"source"}, {"default"}, {"allowed"}, {"effect"}});
  for (const SettingRow& row : settingRows())
    t.row({std::string(row.name), orDash(valueText(row)), isSet(row) ? "environment" : "default",
           orDash(row.fallback), settingAllowedText(row.name), std::string(row.effect)});
  return t;
}

Json document() {
  Json rows = Json::list();
  for (const SettingRow& row : settingRows()) {
    Json object = Json::object();
    object.add("name", row.name).add("value", valueText(row));
    object.add("source", isSet(row) ? "environment" : "default").add("default", row.fallback);
    object.add("type", row.type).add("unit", row.unit).add("allowed", row.allowed);
    object.add("effect", row.effect).add("since", row.since);
    rows.add(std::move(object));
  }
  return Json::object().add("settings", std::move(rows));
}

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

std::string nearestName(const std::string& name) {
  const auto& rows = settingRows();
  const auto nearest =
      std::min_element(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
        return editDistance(name, a.name) < editDistance(name, b.name);
      });
  return std::string(nearest->name);
}

void run(const Options& options) {
  if (options.markdown) return writeText(settingsMarkdown(), "-");
  if (!options.json.empty())
    writeJson(document(), options.json);
  else
    writeText(table().text(terminalWidth()), "-");
  checkEnvironment();
}

}  // namespace

std::string settingsMarkdown() {
  TextTable t({{"name"}, {"default"}, {"allowed"}, {"effect"}, {"since"}});
  for (const SettingRow& row : settingRows())
    t.row({"`" + std::string(row.name) + "`", orDash(row.fallback), settingAllowedText(row.name),
           std::string(row.effect), std::string(row.since)});
  return "# Settings\n\n"
         "Every variable that AutoCCL reads. This page is made by `autoccl settings --markdown` "
         "from the table in\n`src/base/settings.cc`; a test holds that it is current. A variable "
         "set to nothing counts as unset; a value\nthat is not allowed is an error that names the "
         "variable. Sizes read 64K, 64KiB, 1M; a bare number is bytes.\n\n" +
         t.markdown();
}

void checkEnvironment() {
  for (const std::string& name : unknownSettings())
    throw Error(ErrorCode::kUsage, name + " is no setting of AutoCCL",
                "did you mean " + nearestName(name) + "? autoccl settings lists all");
  for (const SettingRow& row : settingRows()) (void)setting(row.name);
}

void addSettings(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("--json", options->json, "Write the table as JSON into FILE (- is stdout).")
      ->type_name("FILE");
  app.add_flag("--markdown", options->markdown, "Print docs/settings.md.");
  app.callback([options] { run(*options); });
}

}  // namespace autoccl::cli
