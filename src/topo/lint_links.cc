// Rules about links inside a host.
#include <algorithm>
#include <map>

#include "topo/bandwidth.h"
#include "topo/lint.h"
#include "topo/paths.h"

namespace autoccl::topo {
namespace {

bool matters(const PciDevice& d) {
  const DeviceKind kind = kindOf(d.deviceClass);
  return kind == DeviceKind::kGpu || kind == DeviceKind::kNic || kind == DeviceKind::kBridge;
}

}  // namespace

void lintLinkSpeeds(const LintInput& in, std::vector<Finding>& out) {
  if (in.host.xmlVersion == 0) return;
  for (const PciDevice& d : in.host.pci) {
    if (!matters(d)) continue;
    const auto speed = gigatransfers(d.linkSpeed);
    const NcclLink seen = ncclPciLink(d.linkSpeed, d.linkWidth);
    const double truth = speed ? pciGBps(*speed, d.linkWidth) : 0;
    if (speed && std::abs(seen.GBps - truth) > 0.01)
      out.push_back({in.at(d.line), d.busId + ": link_speed=\"" + d.linkSpeed + "\"",
                     "that is " + bandwidthText(truth) +
                         "; NCCL does not know the spelling and takes " + bandwidthText(seen.GBps),
                     "write link_speed=\"" + ncclSpelling(d.linkSpeed) + "\"", ""});
    if (!speed && d.hasSpeed)
      out.push_back({in.at(d.line), d.busId + ": link_speed=\"" + d.linkSpeed + "\"",
                     "the speed is unknown; NCCL takes 8 GT/s, " + bandwidthText(seen.GBps),
                     "write the speed of the slot, or leave link_speed out: then NCCL reads /sys",
                     ""});
    if (d.hasWidth && d.linkWidth <= 0)
      out.push_back({in.at(d.line), d.busId + ": the link has no width", "NCCL takes 16 lanes",
                     "write the number of lanes", ""});
  }
}

/// A switch whose way up is narrower than the widest device below it.
void lintSlowSwitches(const LintInput& in, std::vector<Finding>& out) {
  const auto width = [](const PciDevice& d) {
    const auto speed = gigatransfers(d.linkSpeed);
    return speed ? pciGBps(*speed, d.linkWidth) : 0;
  };
  std::map<int, double> widest;  // below each switch
  for (size_t i = in.host.pci.size(); i-- > 0;) {
    const PciDevice& d = in.host.pci[i];
    const auto below = widest.find(static_cast<int>(i));
    const double own = width(d), under = below == widest.end() ? 0 : below->second;
    if (d.parent >= 0) widest[d.parent] = std::max({widest[d.parent], own, under});
    if (kindOf(d.deviceClass) != DeviceKind::kBridge || own <= 0 || own >= under) continue;
    out.push_back({in.at(d.line),
                   "switch " + d.busId + " goes up at " + bandwidthText(own) +
                       ", a device below it at " + bandwidthText(under),
                   "everything between this switch and the rest of the machine is that slow; in "
                   "virtual machines the figure is often invented",
                   "compare with the board's manual; correct link_speed and link_width, or retrain "
                   "the slot",
                   ""});
  }
}

void lintGpuLinks(const LintInput& in, std::vector<Finding>& out) {
  const Host& host = in.host;
  if (!host.stated.empty()) {
    for (const std::string& note : host.notes)
      out.push_back({in.at(0), note.substr(note.find(": ") + 2),
                     "one of the two is wrong: a link may be down", "look at nvidia-smi nvlink -s",
                     ""});
    return;
  }
  int most = 0;
  for (const int g : in.gpus) most = std::max(most, linksOf(host, g).links);
  for (const int g : in.gpus) {
    const Gpu& gpu = host.gpus[static_cast<size_t>(g)];
    const int links = linksOf(host, g).links;
    if (most > 0 && links < most)
      out.push_back({in.at(gpu.line),
                     nameOf(host, gpu) + " has " + std::to_string(links) + " links, another GPU " +
                         std::to_string(most),
                     "the ring is as slow as its slowest GPU; without any link it leaves NVLink",
                     "look at nvidia-smi nvlink -s; a link that is down wants a reset of the GPU",
                     ""});
    for (const GpuLink& l : gpu.links) {
      const int to = host.gpuByBusId(l.target);
      if (to == g)
        out.push_back({in.at(l.line), nameOf(host, gpu) + " has a link to itself",
                       "NCCL counts bandwidth that is not there", "leave the link out", ""});
      if (to < 0 || to == g) continue;
      int back = 0;
      for (const GpuLink& r : host.gpus[static_cast<size_t>(to)].links)
        if (host.gpuByBusId(r.target) == g) back += std::max(0, r.count);
      if (back != l.count)
        out.push_back({in.at(l.line),
                       nameOf(host, gpu) + " has " + std::to_string(l.count) + " links to " +
                           nameOf(host, host.gpus[static_cast<size_t>(to)]) + ", which has " +
                           std::to_string(back) + " back",
                       "one direction is counted wider than the other", "correct the smaller one",
                       ""});
    }
  }
}

void lintRedirects(const LintInput& in, std::vector<Finding>& out) {
  for (size_t i = 0; i < in.host.pci.size(); ++i) {
    const PciDevice& d = in.host.pci[i];
    if (d.acs != 1) continue;
    const bool above = std::ranges::any_of(in.host.gpus, [&](const Gpu& g) {
      int up = g.pci;
      while (up >= 0 && up != static_cast<int>(i)) up = in.host.pci[static_cast<size_t>(up)].parent;
      return up == static_cast<int>(i);
    });
    if (!above) continue;
    out.push_back(
        {in.at(d.line), "switch " + d.busId + " above a GPU redirects peer requests (ACS)",
         "peer traffic goes up to the host bridge and back: slow, and with an IOMMU it can "
         "hang",
         "turn ACS off: setpci -s " + d.busId +
             " ECAP_ACS+6.w=0000 at each start, or in the "
             "firmware; in a virtual machine ACS is needed, and NCCL_P2P_LEVEL must stay below it",
         ""});
  }
  if (in.host.iommu == "on" && in.host.gpus.size() > 1)
    out.push_back({in.at(0), "the IOMMU translates (iommu=on)",
                   "peer access between GPUs may be slow or hang", "start the kernel with iommu=pt",
                   ""});
}

}  // namespace autoccl::topo
