// Network devices of /sys: RDMA and plain ones, and what belongs together.
#pragma once

#include "topo/host.h"
#include "topo/sysfs.h"

namespace autoccl::topo {

/// Adds to `host.nics`. An RDMA device and the network devices on the same PCI function are one
/// NIC. `host.pci` is there already. Of virtual interfaces only that of the default route counts.
void addNics(const SysTree& tree, Host& host);

}  // namespace autoccl::topo
