#include "topo/paths.h"

#include <algorithm>
#include <numeric>

#include "topo/bandwidth.h"

namespace autoccl::topo {
namespace {

const PciDevice& at(const Host& host, int index) {
  return host.pci[static_cast<size_t>(index)];
}

/// The narrower of two; 0 is unknown and narrows nothing.
double narrower(double a, double b) {
  return a <= 0 ? b : b <= 0 ? a : std::min(a, b);
}

struct Climb {
  std::vector<int> devices;  // from the device up to the root
};
Climb climb(const Host& host, int device) {
  Climb up;
  for (int d = device; d >= 0; d = at(host, d).parent) up.devices.push_back(d);
  return up;
}

/// The upward links of `devices` below the position `end`.
void narrow(const Host& host, const Climb& up, size_t end, Path& path) {
  for (size_t i = 0; i < end; ++i) {
    const PciDevice& d = at(host, up.devices[i]);
    const auto speed = gigatransfers(d.linkSpeed);
    path.GBps = narrower(path.GBps, speed ? pciGBps(*speed, d.linkWidth) : d.currentGBps);
    path.ncclGBps = narrower(path.ncclGBps, ncclPciLink(d.linkSpeed, d.linkWidth).GBps);
  }
}

PathClass throughCpu(const Host& host, const PciDevice& a, const PciDevice& b) {
  if (a.numa < 0 || b.numa < 0) return PathClass::kUnknown;
  if (a.numa != b.numa) return PathClass::kSys;
  const auto& numa = host.numa[static_cast<size_t>(a.numa)];
  if (numa.id < 0) return PathClass::kUnknown;
  const bool bridges = !a.rootBus.empty() && !b.rootBus.empty() && a.rootBus != b.rootBus;
  return bridges ? PathClass::kNode : PathClass::kPhb;
}

Path stated(const Host& host, size_t from, size_t to) {
  const StatedPath& s = host.stated[from][to];
  return {s.path, 0, 0, s.links};
}

double linkGBps(const Gpu& gpu, const GpuLink& link) {
  if (link.kind == LinkKind::kXgmi) return xgmiGBps(gpu.gcn.empty() ? gpu.model : gpu.gcn);
  if (link.kind == LinkKind::kC2c) return link.mbps / 1000.0;
  return nvlinkGBps(gpu.computeCapability);
}

/// Direct bundle from a GPU to another, and its bundle to a switch.
struct Bundle {
  int direct = 0, toSwitch = 0;
  double directGBps = 0, switchGBps = 0;
};
Bundle bundle(const Host& host, const Gpu& from, int to) {
  Bundle found;
  for (const GpuLink& link : from.links) {
    if (link.kind == LinkKind::kC2c || link.count <= 0) continue;
    const bool isSwitch = kindOf(link.targetClass) == DeviceKind::kNvSwitch;
    if (isSwitch) {
      found.toSwitch += link.count;
      found.switchGBps += link.count * linkGBps(from, link);
    } else if (host.gpuByBusId(link.target) == to) {
      found.direct += link.count;
      found.directGBps += link.count * linkGBps(from, link);
    }
  }
  return found;
}

Path byLinks(const Host& host, int from, int to) {
  const Bundle out = bundle(host, host.gpus[static_cast<size_t>(from)], to);
  if (out.direct > 0) return {PathClass::kNvlink, out.directGBps, out.directGBps, out.direct};
  const Bundle back = bundle(host, host.gpus[static_cast<size_t>(to)], from);
  if (out.toSwitch > 0 && back.toSwitch > 0) {
    const double width = std::min(out.switchGBps, back.switchGBps);
    return {PathClass::kNvlink, width, width, std::min(out.toSwitch, back.toSwitch)};
  }
  return {};
}

Path byOneHop(const Host& host, int from, int to) {
  Path best;
  for (int middle = 0; middle < static_cast<int>(host.gpus.size()); ++middle) {
    if (middle == from || middle == to) continue;
    const Path first = byLinks(host, from, middle), second = byLinks(host, middle, to);
    if (first.path != PathClass::kNvlink || second.path != PathClass::kNvlink) continue;
    const double width = std::min(first.GBps, second.GBps);
    if (width > best.GBps)
      best = {PathClass::kNvlinkHop, width, width, std::min(first.links, second.links)};
  }
  return best;
}

}  // namespace

Path overPci(const Host& host, int from, int to) {
  if (from < 0 || to < 0) return {};
  if (from == to) return {PathClass::kSelf, 0, 0, 0};
  const Climb a = climb(host, from), b = climb(host, to);
  Path path;
  size_t i = a.devices.size(), j = b.devices.size();
  while (i > 0 && j > 0 && a.devices[i - 1] == b.devices[j - 1]) --i, --j;
  narrow(host, a, i, path);
  narrow(host, b, j, path);
  const bool shared = i < a.devices.size();
  if (shared) {
    // Switches passed: those strictly between the devices, and the common one.
    const size_t switches = (i > 0 ? i - 1 : 0) + (j > 0 ? j - 1 : 0) + 1;
    path.path = switches <= 1 ? PathClass::kPix : PathClass::kPxb;
    return path;
  }
  path.path = throughCpu(host, at(host, from), at(host, to));
  if (path.path == PathClass::kSys) {
    const NumaNode& numa = host.numa[static_cast<size_t>(at(host, from).numa)];
    path.GBps = narrower(path.GBps, socketGBps(numa));
    path.ncclGBps = narrower(path.ncclGBps, socketGBps(numa));
  }
  return path;
}

Path gpuToGpu(const Host& host, int from, int to) {
  if (from == to) return {PathClass::kSelf, 0, 0, 0};
  if (!host.stated.empty()) return stated(host, static_cast<size_t>(from), static_cast<size_t>(to));
  const Path links = byLinks(host, from, to);
  if (links.path == PathClass::kNvlink) return links;
  const Path hop = byOneHop(host, from, to);
  const Path pci = overPci(host, host.gpus[static_cast<size_t>(from)].pci,
                           host.gpus[static_cast<size_t>(to)].pci);
  return hop.path == PathClass::kNvlinkHop ? hop : pci;
}

Path gpuToNic(const Host& host, int gpu, int nic) {
  if (!host.stated.empty())
    return stated(host, static_cast<size_t>(gpu), host.gpus.size() + static_cast<size_t>(nic));
  const Nic& n = host.nics[static_cast<size_t>(nic)];
  Path path = overPci(host, host.gpus[static_cast<size_t>(gpu)].pci, n.pci);
  if (n.mbps > 0) path.GBps = narrower(path.GBps, nicGBps(n.mbps));
  if (path.path != PathClass::kUnknown) path.ncclGBps = narrower(path.ncclGBps, nicGBps(n.mbps));
  return path;
}

Path nicToNic(const Host& host, int from, int to) {
  if (from == to) return {PathClass::kSelf, 0, 0, 0};
  if (!host.stated.empty())
    return stated(host, host.gpus.size() + static_cast<size_t>(from),
                  host.gpus.size() + static_cast<size_t>(to));
  return overPci(host, host.nics[static_cast<size_t>(from)].pci,
                 host.nics[static_cast<size_t>(to)].pci);
}

std::vector<int> nicsByDistance(const Host& host, int gpu) {
  std::vector<int> order(host.nics.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Path> paths;
  paths.reserve(order.size());
  for (const int nic : order) paths.push_back(gpuToNic(host, gpu, nic));
  std::ranges::stable_sort(order, [&](int a, int b) {
    const Path &pa = paths[static_cast<size_t>(a)], &pb = paths[static_cast<size_t>(b)];
    return pa.path != pb.path ? pa.path < pb.path : pa.GBps > pb.GBps;
  });
  return order;
}

Fan linksOf(const Host& host, int gpu) {
  Fan fan;
  for (const GpuLink& link : host.gpus[static_cast<size_t>(gpu)].links) {
    if (link.kind == LinkKind::kC2c || link.count <= 0) continue;
    fan.links += link.count;
    fan.GBps += link.count * linkGBps(host.gpus[static_cast<size_t>(gpu)], link);
  }
  return fan;
}

double nicWidth(const Host& host, int nic) {
  const Nic& n = host.nics[static_cast<size_t>(nic)];
  double width = n.mbps > 0 ? nicGBps(n.mbps) : 0;
  if (n.pci < 0) return width;
  const PciDevice& slot = at(host, n.pci);
  const auto speed = gigatransfers(slot.linkSpeed);
  return speed ? narrower(width, pciGBps(*speed, slot.linkWidth)) : width;
}

std::string cardOf(const Host& host, const Nic& nic) {
  if (nic.pci < 0) return "";
  const std::string& id = at(host, nic.pci).busId;
  return id.substr(0, id.find('.'));
}

}  // namespace autoccl::topo
