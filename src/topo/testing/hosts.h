// Hosts of common shapes for tests.
#pragma once

#include <string>

#include "topo/host.h"

namespace autoccl::topo::fixtures {

inline int addDevice(Host& host, const std::string& busId, const char* deviceClass, int numa,
                     int parent) {
  PciDevice d;
  d.busId = busId;
  d.deviceClass = deviceClass;
  d.numa = numa;
  d.parent = parent;
  d.linkSpeed = "32.0 GT/s PCIe";
  d.linkWidth = 16;
  d.hasSpeed = d.hasWidth = true;
  host.pci.push_back(d);
  return static_cast<int>(host.pci.size()) - 1;
}

/// Two sockets of `cpus` CPUs each; GPU i below a switch of its own, on socket 0 in the first half.
/// NIC i is below the switch of GPU i x gpus/nics.
inline Host pciHost(int gpus, int nics, int cpus = 16) {
  Host host;
  for (int i = 0; i < 2; ++i) {
    NumaNode node;
    node.id = i;
    for (int c = 0; c < cpus; ++c) node.cpus.add(static_cast<size_t>(i * cpus + c));
    node.arch = "x86_64";
    node.vendor = "GenuineIntel";
    node.family = 6;
    node.model = 143;
    host.numa.push_back(node);
  }
  std::vector<int> switches;
  for (int i = 0; i < gpus; ++i) {
    const int numa = i * 2 >= gpus ? 1 : 0;
    const std::string bus = "0000:" + std::to_string(10 + i);
    switches.push_back(addDevice(host, bus + ":00.0", "0x060400", numa, -1));
    Gpu gpu;
    gpu.pci = addDevice(host, bus + ":01.0", "0x030200", numa, switches.back());
    gpu.numa = numa;
    gpu.index = gpu.rank = i;
    gpu.declared = true;
    gpu.computeCapability = 90;
    gpu.gpuDirect = 1;
    host.gpus.push_back(gpu);
  }
  for (int i = 0; i < nics; ++i) {
    const auto at = static_cast<size_t>(i * gpus / nics);
    Nic nic;
    nic.numa = host.gpus[at].numa;
    nic.pci = addDevice(host, "0000:" + std::to_string(10 + at) + ":02.0", "0x020700", nic.numa,
                        switches[at]);
    nic.name = "mlx5_" + std::to_string(i);
    nic.index = i;
    nic.mbps = 400000;
    nic.rdma = nic.declared = true;
    host.nics.push_back(nic);
  }
  return host;
}

inline void addLink(Host& host, int from, const std::string& target, int count,
                    const char* targetClass) {
  GpuLink link;
  link.target = target;
  link.count = count;
  link.targetClass = targetClass;
  host.gpus[static_cast<size_t>(from)].links.push_back(link);
}

/// The same with 18 NVLinks of each GPU to switches.
inline Host switchedHost(int gpus, int nics) {
  Host host = pciHost(gpus, nics);
  for (int i = 0; i < gpus; ++i) addLink(host, i, "0000:80:00.0", 18, "0x068000");
  return host;
}

/// Eight GPUs on the corners of a cube, NVLink along its edges.
inline Host cubeHost() {
  Host host = pciHost(8, 0);
  for (int i = 0; i < 8; ++i)
    for (const int bit : {1, 2, 4})
      addLink(host, i,
              host.pci[static_cast<size_t>(host.gpus[static_cast<size_t>(i ^ bit)].pci)].busId, 2,
              "0x030200");
  return host;
}

}  // namespace autoccl::topo::fixtures
