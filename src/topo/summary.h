// A host in one line, and as a key.
#pragma once

#include <string>

#include "topo/host.h"

namespace autoccl::topo {

/// "8 x NVIDIA H200, NVLink x18 to a switch, 8 NICs of 400 Gbit/s, 2 NUMA nodes". Parts that are
/// unknown or not there are left out.
[[nodiscard]] std::string summaryOf(const Host& host);

/// 16 hex digits over what decides how fast collectives between devices are: kinds and numbers of
/// GPUs, the class of every path between them and to the NICs, speeds of links and NICs. Names, bus
/// ids and addresses change nothing, so that equal machines have equal keys. Pure.
[[nodiscard]] std::string shapeKey(const Host& host);

}  // namespace autoccl::topo
