#include <cstdio>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/topo_commands.h"
#include "topo/any_file.h"
#include "topo/discover.h"
#include "topo/nvml.h"
#include "topo/words.h"

namespace autoccl::cli {

topo::Host liveHost(const std::string& sysRoot) {
  topo::Host host = topo::discover(sysRoot);
  if (!sysRoot.empty()) {
    if (host.pci.empty() && host.numa.size() == 1 && host.numa[0].cpus.empty())
      throw Error(ErrorCode::kInput, sysRoot + ": has no /sys below it that tells of a machine");
    return host;
  }
  const std::string reason = topo::addNvml(host);
  if (!reason.empty() && !host.gpus.empty())
    host.notes.push_back("NVLink and the models of GPUs are unknown: " + reason);
  return host;
}

void eachTopoFile(
    const std::vector<std::string>& files,
    const std::function<void(const std::string& file, const std::string& text)>& work) {
  bool failed = false;
  for (const std::string& file : files) try {
      const std::string text = readInput(file);
      if (const std::string reason = topo::unreadable(text); !reason.empty())
        topo::refuse(file, 0, reason);
      work(file, text);
    } catch (const Error& error) {
      std::fprintf(stderr, "autoccl: %s\n", error.what());
      failed = true;
    }
  if (failed) throw ExitWith{kUsage};
}

void addTopo(CLI::App& app) {
  app.require_subcommand(1);
  addTopoShow(app);
  addTopoLint(app);
  addTopoPlan(app);
  addTopoExport(app);
  addTopoPlatforms(app);
}

}  // namespace autoccl::cli
