// hwloc's XML (lstopo out.xml), formats 1 and 2.
#pragma once

#include <string>
#include <string_view>

#include "topo/host.h"

namespace autoccl::topo {

/// NUMA nodes, PCIe bridges and devices, and the names of the network and GPU devices below them.
/// hwloc tells a link's present GB/s and no speed or width. Objects that say nothing of links
/// (caches, storage) are passed over. Throws Error "file:line: reason".
[[nodiscard]] Host readHwlocXml(std::string_view text, const std::string& file);

}  // namespace autoccl::topo
