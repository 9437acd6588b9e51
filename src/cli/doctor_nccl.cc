#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "cli/doctor.h"
#include "cli/output.h"
#include "report/text_table.h"
#include "store/nccl/lint.h"
#include "store/nccl/log.h"
#include "store/nccl/rules.h"
#include "store/nccl/settings.h"

namespace autoccl::cli {
namespace {

struct Library {
  std::string path;
  int version = 0;
};

/// The library that a program here would load by its name; loading it starts nothing.
Library libraryOfLoader() {
  Library library;
  void* handle = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return library;
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) library.path = map->l_name;
  using GetVersion = int (*)(int*);
  if (const auto get = reinterpret_cast<GetVersion>(dlsym(handle, "ncclGetVersion")))
    (void)get(&library.version);
  dlclose(handle);
  return library;
}

void addFindings(std::vector<Finding> more, DoctorReport& report) {
  report.findings.insert(report.findings.end(), std::make_move_iterator(more.begin()),
                         std::make_move_iterator(more.end()));
}

void showSettings(const nccl::Sources& sources, DoctorReport& report) {
  if (sources.all.empty()) {
    report.text += "settings: none of NCCL's is set\n";
    return;
  }
  TextTable table({{"setting"}, {"value"}, {"from"}, {"in force"}});
  for (const nccl::Setting& s : sources.all)
    table.row({s.name, s.value, s.where, sources.inForce(s.name) == &s ? "yes" : "no"});
  report.text += table.text();
}

void lookAtMachine(const DoctorInput& input, DoctorReport& report) {
  const Library library = libraryOfLoader();
  if (library.version == 0)
    report.text +=
        "library: libnccl.so.2 is not on the loader's path; a program may bring its own\n";
  else
    report.text +=
        "library: NCCL " + nccl::versionText(library.version) + ", " + library.path + "\n";
  const nccl::Sources sources = nccl::readSources(environ);
  showSettings(sources, report);
  const int version = input.ncclVersion != 0 ? input.ncclVersion : library.version;
  addFindings(nccl::lintSettings(sources, version), report);
}

/// The first line that is not empty and no comment.
std::string_view firstLine(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && line != "\r" && !line.starts_with('#')) return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

void lookAtRules(const std::string& path, const std::string& text, DoctorReport& report) {
  const std::vector<nccl::Rule> rules = nccl::readRules(text, path);
  report.text += path + ": a tuner's rule file, " + std::to_string(rules.size()) + " rules\n";
  addFindings(nccl::lintRules(rules, path), report);
}

void lookAtConf(const DoctorInput& input, const std::string& path, const std::string& text,
                DoctorReport& report) {
  nccl::Sources sources;
  sources.all = nccl::readConf(text, path);
  report.text += path + ": NCCL settings, " + std::to_string(sources.all.size()) + " of them\n";
  addFindings(nccl::lintSettings(sources, input.ncclVersion), report);
}

void lookAtLog(const std::string& path, const std::string& text, DoctorReport& report) {
  const nccl::Log log = nccl::readLog(text, path);
  report.text += path + ": " + std::to_string(log.ncclLines) + " of " + std::to_string(log.lines) +
                 " lines are NCCL's; version " +
                 (log.version == 0 ? "unknown" : nccl::versionText(log.version)) +
                 ", tuner plugin " +
                 (!log.tuner.empty() ? log.tuner
                  : log.sawTuner     ? "not active"
                                     : "unknown") +
                 "\n";
  addFindings(log.findings, report);
}

void lookAtFile(const DoctorInput& input, const std::string& path, DoctorReport& report) {
  const std::string text = readInput(path);
  const std::string_view line = firstLine(text);
  const bool setting = line.find('=') != line.npos && line.find(' ') > line.find('=');
  if (text.find('\0') != text.npos)
    throw Error(ErrorCode::kInput, path + ": is a binary file",
                "give a log, a nccl.conf or a tuner's rule file");
  if (line.empty())
    throw Error(ErrorCode::kInput, path + ": has no line to read",
                "give a log, a nccl.conf or a tuner's rule file");
  if (std::ranges::count(line, ',') >= 7)
    lookAtRules(path, text, report);
  else if (setting)
    lookAtConf(input, path, text, report);
  else
    lookAtLog(path, text, report);
}

}  // namespace

void lookAtNccl(const DoctorInput& input, DoctorReport& report) {
  if (input.files.empty()) return lookAtMachine(input, report);
  for (const std::string& path : input.files) try {
      lookAtFile(input, path, report);
    } catch (const Error& error) {
      report.unreadable.emplace_back(error.what());
    }
}

}  // namespace autoccl::cli
