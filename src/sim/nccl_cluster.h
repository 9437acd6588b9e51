// A cluster of equal nodes, described in the words of a data sheet, as NCCL's search would see it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/nccl_model.h"

namespace autoccl::sim {

/// A GPU as far as NCCL's search looks: links to the other GPUs of its node and what one carries.
struct GpuKind {
  std::string_view name;  // "h200"
  int computeCapability = 0;
  int links = 0;        // NVLink; 0: PCIe only
  double linkGBps = 0;  // one direction, as NCCL counts it
  double pciGBps = 0;   // of its slot
  bool nvls = false;    // NVLink multicast on an NVSwitch
};
[[nodiscard]] const std::vector<GpuKind>& gpuKinds();
/// Throws Error (kUsage) that lists the known ones.
[[nodiscard]] const GpuKind& gpuKindNamed(const std::string& name);

/// Equal nodes; every GPU of a node reaches every other at full speed (NVSwitch), or all by PCIe.
struct UniformCluster {
  GpuKind gpu;
  int nodes = 1;
  int gpusPerNode = 8;
  int nicsPerNode = 0;  // 0 with one node
  double nicGbps = 400;
  CpuVendor cpu = CpuVendor::kIntel;
  bool nvls = false;  // multicast in use
};

/// Channels and speeds after NCCL's rule: the fastest rung of its ladder of channel speeds on which
/// most of the bandwidth is used, channels doubled where one is wide. For uniform nodes only; what
/// a real, uneven machine gives is in its log. Throws Error (kUsage) for a cluster that cannot be.
/// Source: nccl graph/search.cc, release 2.30.7, re-implemented for this case.
[[nodiscard]] NcclCluster describe(const UniformCluster& cluster);

}  // namespace autoccl::sim
