// One host's topology for people and for programs.
#pragma once

#include <string>

#include "store/json.h"
#include "topo/host.h"

namespace autoccl::cli {

/// The tree of NUMA nodes, switches and devices, then the matrix of path classes (up to 32
/// devices), the limits and the notes. Unknown things are called unknown.
[[nodiscard]] std::string topoTree(const topo::Host& host);

/// Schema autoccl-topology/1, docs/topo.md.
[[nodiscard]] Json topoJson(const topo::Host& host);

/// One <svg> element: NUMA nodes with their switches, GPUs and NICs side by side, links between
/// GPUs above them.
[[nodiscard]] std::string topoSvg(const topo::Host& host);

/// A page around the drawing, the matrix and the facts.
[[nodiscard]] std::string topoPage(const topo::Host& host, const std::string& source);

/// "32.0 GT/s x16, 48 GB/s"; "link unknown".
[[nodiscard]] std::string linkText(const topo::PciDevice& device);
/// "GPU3 NVIDIA H200, sm 90"; "mlx5_0 InfiniBand 400 Gbit/s ACTIVE".
[[nodiscard]] std::string gpuText(const topo::Host& host, int gpu);
[[nodiscard]] std::string nicText(const topo::Host& host, int nic);

}  // namespace autoccl::cli
