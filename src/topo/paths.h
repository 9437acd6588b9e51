// How devices of one host reach each other: over what, and how wide.
#pragma once

#include <vector>

#include "topo/host.h"

namespace autoccl::topo {

/// GB/s is the narrowest link's, in truth and as NCCL would count it; 0: unknown.
struct Path {
  PathClass path = PathClass::kUnknown;
  double GBps = 0;
  double ncclGBps = 0;
  int links = 0;  // of NVLink or xGMI
};

/// A path by NVLink or xGMI where there is one (direct, over a switch, or by one other GPU), else
/// over PCIe: PIX below one switch, PXB over several, PHB through the host bridge, SYS between NUMA
/// nodes. NODE only where the source knows several host bridges in a NUMA node. Pure; linear in
/// depth and links.
[[nodiscard]] Path gpuToGpu(const Host& host, int from, int to);
[[nodiscard]] Path gpuToNic(const Host& host, int gpu, int nic);
[[nodiscard]] Path nicToNic(const Host& host, int from, int to);
/// Over PCIe alone, between two indices of Host::pci.
[[nodiscard]] Path overPci(const Host& host, int from, int to);

/// NICs in the order in which this GPU would take them: nearest class, then widest, then first.
[[nodiscard]] std::vector<int> nicsByDistance(const Host& host, int gpu);

/// Links and GB/s by NVLink or xGMI from one GPU to all others together (switch or direct).
struct Fan {
  int links = 0;
  double GBps = 0;
};
[[nodiscard]] Fan linksOf(const Host& host, int gpu);

/// The NIC's speed bounded by its slot, in GB/s; 0: unknown.
[[nodiscard]] double nicWidth(const Host& host, int nic);

/// A device without its function, so that the ports of one card are one: "0000:0a:00".
[[nodiscard]] std::string cardOf(const Host& host, const Nic& nic);

}  // namespace autoccl::topo
