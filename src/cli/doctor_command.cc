#include <array>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/findings_output.h"
#include "cli/output.h"
#include "store/nccl/log.h"

namespace autoccl::cli {
namespace {

struct Options {
  DoctorInput input;
  std::string version, json;
};

constexpr std::array<DoctorSection, 1> kSections = {{{"NCCL", lookAtNccl}}};

void print(const DoctorSection& section, const DoctorReport& report) {
  writeText(std::string(section.name) + "\n" + report.text + findingsText(report.findings), "-");
}

void run(Options o) {
  if (!o.version.empty()) {
    o.input.ncclVersion = nccl::versionOf(o.version);
    if (o.input.ncclVersion == 0)
      throw Error(ErrorCode::kUsage, "--nccl-version: '" + o.version + "' is no version",
                  "write it as 2.28.9");
  }
  Json list = Json::list();
  bool found = false, unreadable = false;
  for (const DoctorSection& section : kSections) {
    DoctorReport report;
    section.look(o.input, report);
    for (const Finding& f : report.findings) list.add(findingJson(f).add("section", section.name));
    for (const std::string& reason : report.unreadable)
      std::fprintf(stderr, "autoccl: %s\n", reason.c_str());
    found = found || !report.findings.empty();
    unreadable = unreadable || !report.unreadable.empty();
    if (o.json != "-") print(section, report);
  }
  if (!o.json.empty()) writeJson(Json::object().add("findings", std::move(list)), o.json);
  if (unreadable) throw ExitWith{kUsage};
  if (found) throw ExitWith{kFindings};
}

}  // namespace

void addDoctor(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option(
         "FILE", o->input.files,
         "Logs (NCCL_DEBUG=INFO), nccl.conf files, tuner rule files. Default: this machine: "
         "the library, the environment, ~/.nccl.conf, /etc/nccl.conf.")
      ->type_name("FILE");
  app.add_option(
         "--nccl-version", o->version,
         "Judge by this release, for example 2.28.9. Default: the library's, else the newest.")
      ->type_name("V");
  app.add_option("--json", o->json, "Writes the findings as JSON (- is stdout, instead of text).")
      ->type_name("FILE");
  app.callback([o] { run(*o); });
}

}  // namespace autoccl::cli
