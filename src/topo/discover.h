// The machine that this process runs on, from /sys and /proc.
#pragma once

#include <string>

#include "topo/host.h"

namespace autoccl::topo {

/// NUMA nodes and CPUs, the PCIe tree down to GPUs, NVSwitches and NICs, RDMA and network devices,
/// IOMMU and ACS, and, of this machine only, the allowed CPUs, /dev/shm, memlock and the cgroup's
/// share. `root` is put before the paths: a saved tree of another machine. Whatever is not there,
/// or not for this user to read, stays unknown. Needs no library and no right; never throws.
/// PCI links are the slower of device and port, as NCCL takes them.
[[nodiscard]] Host discover(const std::string& root = "");

}  // namespace autoccl::topo
