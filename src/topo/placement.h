// Whether a process runs where its devices are, and whether its variables fit the host.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "topo/host.h"

namespace autoccl::topo {

/// A process: its variables, the CPUs and memory nodes it may use. Empty sets: unknown.
struct Placement {
  const Host& host;
  std::function<std::string(std::string_view name)> variable;  // empty text: not set
  CpuSet cpus, memoryNodes;
  std::string where;  // "environment", "process 1234"
};

/// One rule of a table for each thing that is looked at: CPUs and memory against the GPU of the
/// local rank, RDMA and EFA that variables switch off, interface patterns against the interfaces,
/// /dev/shm and locked memory against what NCCL needs, launchers' variables against each other.
/// Pure.
[[nodiscard]] std::vector<Finding> placementFindings(const Placement& placement);

/// Whether NCCL takes this name by the pattern: a comma list of prefixes, "=" before it asks for
/// the whole name, "^" excludes; a ":port" behind a name is not looked at. An empty pattern takes
/// all.
[[nodiscard]] bool matchesPattern(std::string_view name, std::string_view pattern);

}  // namespace autoccl::topo
