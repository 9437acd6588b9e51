// Fills in what NCCL's reader needs and a description lacks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/host.h"
#include "topo/nccl_xml.h"

namespace autoccl::topo {

/// What NCCL asks of a CPU.
struct CpuFacts {
  std::string arch, vendor;
  int family = -1, model = -1;
};
/// "x86_64,GenuineIntel,6,143" or "arm64". Throws Error (kUsage) for anything else.
[[nodiscard]] CpuFacts cpuFactsOf(std::string_view text);

/// Changes `host` so that NCCL's reader takes what writeNcclXml() makes of it, and returns a
/// sentence for each thing that was written or left out. CPUs are completed from `cpu`, else from
/// another socket of the same host; links and classes by what NCCL assumes of them. Throws Error
/// (kInput) where a CPU stays unknown, or where the source has no bus ids (nvidia-smi topo -m).
[[nodiscard]] std::vector<std::string> completeForNccl(Host& host, const std::string& file,
                                                       const std::optional<CpuFacts>& cpu,
                                                       XmlDialect dialect);

}  // namespace autoccl::topo
