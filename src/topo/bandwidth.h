// What links carry, in truth and as NCCL counts it. GB/s are 10^9 bytes a second, one direction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topo/host.h"

namespace autoccl::topo {

/// GT/s of "16.0 GT/s PCIe", "16 GT/s", "16GT/s", "16.0"; nothing for a text without a number.
[[nodiscard]] std::optional<double> gigatransfers(std::string_view linkSpeed);

/// GB/s of a PCIe link after line coding and headers, as NCCL counts it for a speed that it knows:
/// 12 for 8 GT/s and 16 lanes. Width 0 or below counts as 16.
[[nodiscard]] double pciGBps(double gigatransfersPerSecond, int width);

/// What NCCL takes a link to be: a spelling that it does not know is 8 GT/s ("32.0 GT/s" without
/// "PCIe" is one). `known`: it knows this spelling.
struct NcclLink {
  double GBps = 0;
  bool known = false;
};
[[nodiscard]] NcclLink ncclPciLink(std::string_view linkSpeed, int width);

/// The same speed as NCCL knows it: "32.0 GT/s" becomes "32.0 GT/s PCIe". A text without a speed,
/// and a speed of no PCIe generation, come back as they are.
[[nodiscard]] std::string ncclSpelling(const std::string& linkSpeed);

/// GB/s of a NIC: Mbit/s / 8000; 0 or below counts as 10 Gbit/s, as in NCCL.
[[nodiscard]] double nicGBps(int64_t mbps);

/// GB/s of one NVLink by compute capability, as NCCL counts it.
[[nodiscard]] double nvlinkGBps(int computeCapability);
/// GB/s of one xGMI link by the GPU's architecture ("gfx942"), as RCCL counts it.
[[nodiscard]] double xgmiGBps(std::string_view gcn);

/// GB/s between two sockets, as NCCL counts it; 5000 ("no limit known") for CPUs it does not know.
[[nodiscard]] double socketGBps(const NumaNode& numa);

/// "48 GB/s".
[[nodiscard]] std::string bandwidthText(double GBps);

}  // namespace autoccl::topo
