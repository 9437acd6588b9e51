// What NVML knows of the GPUs, where the driver is installed.
#pragma once

#include <string>

#include "topo/host.h"

namespace autoccl::topo {

/// Fills index, model, compute capability and NVLink of the GPUs in `host` that NVML knows, and
/// adds those that /sys hides. The library is opened by name for the length of the call; each of
/// its functions may be missing. Remote ends that a virtual machine hides (all f) count as an
/// NVSwitch, as in NCCL. Returns why nothing was learned; empty: all is well. Starts the driver.
std::string addNvml(Host& host, const char* library = "libnvidia-ml.so.1");

}  // namespace autoccl::topo
