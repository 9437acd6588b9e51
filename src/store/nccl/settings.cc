#include "store/nccl/settings.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/lines.h"
#include "model/config.h"
#include "store/file.h"

namespace autoccl::nccl {
namespace {

constexpr std::string_view kPrefix = "NCCL_";

void addFile(const std::string& path, std::vector<Setting>& all) {
  try {
    if (const auto text = readWholeFile(path)) {
      const std::vector<Setting> lines = readConf(*text, path);
      all.insert(all.end(), lines.begin(), lines.end());
    }
  } catch (const Error&) {
    return;  // NCCL goes on without a file that it cannot open
  }
}

}  // namespace

std::vector<Setting> readConf(std::string_view text, const std::string& fileName) {
  std::vector<Setting> settings;
  eachLine(text, [&](std::string_view row, int line) {
    const size_t at = row.find('=');
    if (row.starts_with('#') || at == row.npos) return;
    settings.push_back({std::string(row.substr(0, at)), std::string(row.substr(at + 1)),
                        fileName + ":" + std::to_string(line)});
  });
  return settings;
}

const Setting* Sources::inForce(std::string_view name) const {
  const auto found = std::ranges::find(all, name, &Setting::name);
  return found == all.end() ? nullptr : &*found;
}

std::string_view Sources::value(std::string_view name) const {
  const Setting* s = inForce(name);
  return s == nullptr ? std::string_view() : std::string_view(s->value);
}

Sources readSources(const char* const* environment, const std::string& root) {
  Sources sources;
  for (const char* const* e = environment; *e != nullptr; ++e) {
    const char* at = std::strchr(*e, '=');
    if (at == nullptr || strncasecmp(*e, kPrefix.data(), kPrefix.size()) != 0) continue;
    sources.all.push_back({std::string(*e, at), at + 1, "environment"});
  }
  const std::string_view own = sources.value("NCCL_CONF_FILE");
  const char* home = std::getenv("HOME");
  if (!own.empty())
    addFile(root + std::string(own), sources.all);
  else if (home != nullptr)
    addFile(root + home + "/.nccl.conf", sources.all);
  addFile(root + "/etc/nccl.conf", sources.all);
  return sources;
}

int64_t integerAsRead(const std::string& value) {
  return std::strtoll(value.c_str(), nullptr, 0);
}

bool isPlainDecimal(std::string_view value) {
  if (value.starts_with('-')) value.remove_prefix(1);
  if (value.empty() || (value.size() > 1 && value[0] == '0')) return false;
  return std::ranges::all_of(value, [](unsigned char c) { return std::isdigit(c) != 0; });
}

int64_t meantBytes(std::string_view value, int64_t otherwise) {
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  while (!value.empty() && blank(value.front())) value.remove_prefix(1);
  while (!value.empty() && blank(value.back())) value.remove_suffix(1);
  const size_t zeros = std::min(value.find_first_not_of('0'), value.size());
  if (zeros < value.size()) value.remove_prefix(zeros);
  try {
    return static_cast<int64_t>(parseBytes(value, "value"));
  } catch (const Error&) {
    return otherwise;
  }
}

}  // namespace autoccl::nccl
