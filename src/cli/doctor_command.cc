#include <array>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/findings_output.h"
#include "cli/output.h"
#include "model/config.h"
#include "store/nccl/log.h"

namespace autoccl::cli {
namespace {

struct Options {
  DoctorInput input;
  std::string version, json, sarif, message;
};

constexpr std::array<DoctorSection, 4> kSections = {{{"NCCL", false, lookAtNccl},
                                                     {"HCCL", false, lookAtHccl},
                                                     {"Machine", false, lookAtMachine},
                                                     {"Files", true, lookAtFiles}}};

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
  if (!o.message.empty()) o.input.messageBytes = parseBytes(o.message, "--message");
  Json list = Json::list();
  std::vector<Finding> all;
  bool unreadable = false;
  for (const DoctorSection& section : kSections) {
    if (section.ofFiles == o.input.files.empty()) continue;
    DoctorReport report;
    section.look(o.input, report);
    for (const Finding& f : report.findings) list.add(findingJson(f).add("section", section.name));
    for (const std::string& reason : report.unreadable)
      std::fprintf(stderr, "autoccl: %s\n", reason.c_str());
    all.insert(all.end(), report.findings.begin(), report.findings.end());
    unreadable = unreadable || !report.unreadable.empty();
    if (o.json != "-" && o.sarif != "-") print(section, report);
  }
  if (!o.sarif.empty()) writeJson(findingsSarif(all), o.sarif);
  if (!o.json.empty()) writeJson(Json::object().add("findings", std::move(list)), o.json);
  if (unreadable) throw ExitWith{kUsage};
  if (!all.empty()) throw ExitWith{kFindings};
}

}  // namespace

void addDoctor(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option(
         "FILE", o->input.files,
         "Logs (NCCL_DEBUG=INFO), output of nccl-tests, nccl.conf files, tuner rule files, "
         "topologies, "
         "fabrics, lspci -vvv. Default: this machine: the library, the environment, ~/.nccl.conf, "
         "/etc/nccl.conf, topology, limits, placement.")
      ->type_name("FILE");
  app.add_option(
         "--nccl-version", o->version,
         "Judge by this release, for example 2.28.9. Default: the library's, else the newest.")
      ->type_name("V");
  app.add_option("--pid", o->input.pid, "Judge the placement and variables of this process.")
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  app.add_option(
         "--limit", o->input.limitGBps,
         "Bus bandwidth that a bandwidth table's path can carry, in GB/s. Default: that of a "
         "topology among the files.")
      ->check(CLI::PositiveNumber)
      ->type_name("GBPS");
  app.add_option("--below", o->input.enoughPercent,
                 "Share of the limit in % below which to say so.")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 100.0))
      ->type_name("P");
  app.add_option("--message", o->message,
                 "What the program sends at once (bucket, chunk), against a bandwidth table.")
      ->type_name("SIZE");
  app.add_option("--sarif", o->sarif, "Writes them as SARIF for CI (- is stdout, instead of text).")
      ->type_name("FILE");
  app.add_option("--json", o->json, "Writes the findings as JSON (- is stdout, instead of text).")
      ->type_name("FILE");
  app.callback([o] { run(*o); });
}

}  // namespace autoccl::cli
