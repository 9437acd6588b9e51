#include <unistd.h>

#include <cstdlib>
#include <map>

#include "base/error.h"
#include "cli/doctor.h"
#include "cli/topo_commands.h"
#include "store/hccl/lint.h"
#include "topo/lint.h"
#include "topo/placement.h"
#include "topo/summary.h"
#include "topo/sysfs.h"
#include "topo/words.h"

namespace autoccl::cli {
namespace {

/// The text behind "Name:" in /proc/PID/status.
std::string statusLine(const std::string& status, std::string_view name) {
  for (const std::string_view line : topo::split(status, '\n'))
    if (line.starts_with(name)) return std::string(topo::trimmed(line.substr(name.size())));
  return "";
}

std::map<std::string, std::string, std::less<>> variablesOf(const std::string& environ) {
  std::map<std::string, std::string, std::less<>> all;
  for (const std::string_view entry : topo::split(environ, '\0')) {
    const size_t equals = entry.find('=');
    if (equals != entry.npos) all.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

/// Placement of a process by what /proc says of it.
std::vector<Finding> placementOf(int pid, const topo::Host& host) {
  const topo::SysTree proc("");
  const std::string folder = "/proc/" + std::to_string(pid == 0 ? getpid() : pid) + "/";
  const std::string status = proc.bytes(folder + "status");
  if (status.empty())
    throw Error(ErrorCode::kUsage, "--pid: there is no process " + std::to_string(pid));
  const auto variables = variablesOf(proc.bytes(folder + "environ"));
  const auto variable = [&](std::string_view name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  };
  topo::Placement placement{
      host, variable, {}, {}, pid == 0 ? "environment" : "process " + std::to_string(pid)};
  placement.cpus =
      topo::CpuSet::fromList(statusLine(status, "Cpus_allowed_list:")).value_or(topo::CpuSet());
  placement.memoryNodes =
      topo::CpuSet::fromList(statusLine(status, "Mems_allowed_list:")).value_or(topo::CpuSet());
  return topo::placementFindings(placement);
}

}  // namespace

void lookAtHccl(const DoctorInput&, DoctorReport& report) {
  const std::vector<hccl::Setting> settings = hccl::settingsOf(environ);
  report.text += "settings: " +
                 (settings.empty() ? "none of HCCL's is set" : std::to_string(settings.size())) +
                 "\n";
  report.add(hccl::lintSettings(settings));
}

void lookAtMachine(const DoctorInput& input, DoctorReport& report) {
  const topo::Host host = liveHost("");
  report.text += topo::summaryOf(host) + "\n";
  report.add(topo::lintHost(host, "this machine"));
  report.add(placementOf(input.pid, host));
}

}  // namespace autoccl::cli
