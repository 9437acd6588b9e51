#include <algorithm>

#include "cli/topo_views.h"
#include "report/text_table.h"
#include "topo/bandwidth.h"
#include "topo/paths.h"

namespace autoccl::cli {
namespace {

using topo::Host;
using topo::PciDevice;

constexpr size_t kMostInMatrix = 32;

/// Grows a tree of lines; each knows whether a sibling follows.
class Branches {
 public:
  explicit Branches(const Host& host)
      : host_(host), below_(host.pci.size()), gpus_(host.pci.size()), nics_(host.pci.size()) {
    for (size_t i = 0; i < host.pci.size(); ++i)
      if (host.pci[i].parent >= 0) below_[static_cast<size_t>(host.pci[i].parent)].push_back(i);
    for (size_t i = 0; i < host.gpus.size(); ++i)
      if (host.gpus[i].pci >= 0) gpus_[static_cast<size_t>(host.gpus[i].pci)].push_back(i);
    for (size_t i = 0; i < host.nics.size(); ++i)
      if (host.nics[i].pci >= 0) nics_[static_cast<size_t>(host.nics[i].pci)].push_back(i);
  }

  /// Devices of one NUMA node (-1: of none) under their switches, then those without bus id.
  std::string of(int numa) {
    std::vector<size_t> roots;
    for (size_t i = 0; i < host_.pci.size(); ++i)
      if (host_.pci[i].numa == numa && host_.pci[i].parent < 0) roots.push_back(i);
    std::vector<std::string> bare;
    for (size_t i = 0; i < host_.gpus.size(); ++i)
      if (host_.gpus[i].pci < 0 && host_.gpus[i].numa == numa)
        bare.push_back(gpuText(host_, static_cast<int>(i)));
    for (size_t i = 0; i < host_.nics.size(); ++i)
      if (host_.nics[i].pci < 0 && host_.nics[i].numa == numa)
        bare.push_back(nicText(host_, static_cast<int>(i)));
    std::string out;
    for (size_t i = 0; i < roots.size(); ++i)
      device(roots[i], "", i + 1 == roots.size() && bare.empty(), out);
    for (size_t i = 0; i < bare.size(); ++i)
      out += (i + 1 == bare.size() ? "└─ " : "├─ ") + bare[i] + "\n";
    return out;
  }

 private:
  void device(size_t index, const std::string& before, bool last, std::string& out) const {
    out += before + (last ? "└─ " : "├─ ") + text(index) + "\n";
    const std::string deeper = before + (last ? "   " : "│  ");
    const auto& children = below_[index];
    for (size_t i = 0; i < children.size(); ++i)
      device(children[i], deeper, i + 1 == children.size(), out);
  }

  std::string text(size_t index) const {
    const PciDevice& d = host_.pci[index];
    std::string what;
    for (const size_t g : gpus_[index])
      what += (what.empty() ? "" : "; ") + gpuText(host_, static_cast<int>(g));
    for (const size_t n : nics_[index])
      what += (what.empty() ? "" : "; ") + nicText(host_, static_cast<int>(n));
    if (what.empty()) what = plainText(d);
    if (what.find(d.busId) == what.npos) what += "  " + d.busId;
    what += "  " + linkText(d);
    if (d.acs == 1) what += "  ACS redirects";
    return what;
  }

  static std::string plainText(const PciDevice& d) {
    switch (topo::kindOf(d.deviceClass)) {
      case topo::DeviceKind::kBridge:
        return "switch";
      case topo::DeviceKind::kNvSwitch:
        return "NVSwitch";
      default:
        return d.deviceClass.empty() ? "device of unknown class" : "device " + d.deviceClass;
    }
  }

  const Host& host_;
  std::vector<std::vector<size_t>> below_, gpus_, nics_;
};

std::string numaText(const topo::NumaNode& node, const topo::CpuSet& allowed) {
  std::string text = node.id < 0 ? "NUMA node unknown" : "NUMA " + std::to_string(node.id);
  text += node.cpus.empty() ? "  CPUs unknown" : "  CPUs " + node.cpus.list();
  if (!allowed.empty()) {
    const std::string mine = node.cpus.both(allowed).list();
    text +=
        mine == node.cpus.list() ? ", all allowed" : ", allowed " + (mine.empty() ? "none" : mine);
  }
  if (node.memoryBytes > 0)
    text += "  " + figure(static_cast<double>(node.memoryBytes >> 20) / 1024) + " GiB";
  text += "  " + (node.arch.empty() ? "architecture unknown" : node.arch);
  if (!node.vendor.empty()) text += " " + node.vendor;
  if (node.family >= 0 && node.model >= 0)
    text += " " + std::to_string(node.family) + "/" + std::to_string(node.model);
  return text;
}

std::string cellText(const topo::Path& path, bool xgmi) {
  if (path.path == topo::PathClass::kNvlink && path.links > 0)
    return (xgmi ? "XGMI" : "NV") + std::to_string(path.links);
  return toText(path.path);
}

std::string matrix(const Host& host) {
  const size_t gpus = host.gpus.size(), all = gpus + host.nics.size();
  if (all < 2 || all > kMostInMatrix || gpus == 0) return "";
  std::vector<TextTable::Column> columns{{""}};
  std::vector<std::string> names;
  names.reserve(all);
  for (const auto& g : host.gpus) names.push_back(nameOf(host, g));
  for (const auto& n : host.nics) names.push_back(nameOf(host, n));
  columns.reserve(all + 1);
  for (const std::string& name : names) columns.push_back({name});
  TextTable table(std::move(columns));
  for (size_t i = 0; i < gpus; ++i) {
    std::vector<std::string> row{names[i]};
    const auto& links = host.gpus[i].links;
    const bool xgmi = !links.empty() && links.front().kind == topo::LinkKind::kXgmi;
    for (size_t j = 0; j < all; ++j)
      row.push_back(cellText(j < gpus
                                 ? gpuToGpu(host, static_cast<int>(i), static_cast<int>(j))
                                 : gpuToNic(host, static_cast<int>(i), static_cast<int>(j - gpus)),
                             xgmi));
    table.row(std::move(row));
  }
  return "\n" + table.text();
}

/// "64.0 MiB", "23.5 GiB".
std::string roundBytes(uint64_t bytes) {
  const bool large = bytes >= uint64_t{1} << 30;
  return amount(static_cast<double>(bytes) / (large ? 1 << 30 : 1 << 20)) +
         (large ? " GiB" : " MiB");
}

std::string bytesOrNone(uint64_t bytes) {
  if (bytes == UINT64_MAX) return "no limit";
  return bytes == 0 ? "unknown" : roundBytes(bytes);
}

std::string limitsText(const Host& host) {
  std::string out;
  const topo::Limits& l = host.limits;
  if (l.shmBytes > 0)
    out += "/dev/shm " + roundBytes(l.shmBytes) + " (" + roundBytes(l.shmFreeBytes) +
           " free), locked memory " + bytesOrNone(l.memlockBytes) + ", cgroup " +
           (l.cgroupCpus > 0 ? figure(l.cgroupCpus) + " CPUs" : "without a CPU limit") + "\n";
  if (!host.iommu.empty()) out += "IOMMU " + host.iommu + "\n";
  return out.empty() ? "" : "\n" + out;
}

}  // namespace

std::string linkText(const PciDevice& d) {
  const auto speed = topo::gigatransfers(d.linkSpeed);
  if (!speed && d.currentGBps > 0) return "now " + figure(d.currentGBps) + " GB/s";
  if (!speed) return "link unknown";
  return figure(*speed) + " GT/s " + (d.linkWidth > 0 ? "x" + std::to_string(d.linkWidth) : "x?") +
         " " + figure(topo::pciGBps(*speed, d.linkWidth)) + " GB/s";
}

std::string gpuText(const Host& host, int gpu) {
  const topo::Gpu& g = host.gpus[static_cast<size_t>(gpu)];
  std::string text = g.index >= 0 ? nameOf(host, g) : "GPU " + nameOf(host, g);
  if (!g.model.empty() || !g.gcn.empty()) text += " " + (g.model.empty() ? g.gcn : g.model);
  if (g.computeCapability > 0 && g.gcn.empty())
    text += ", sm " + std::to_string(g.computeCapability);
  const topo::Fan fan = linksOf(host, gpu);
  if (fan.links > 0) {
    const bool xgmi = g.links.front().kind == topo::LinkKind::kXgmi;
    text += std::string(", ") + (xgmi ? "xGMI" : "NVLink") + " x" + std::to_string(fan.links) +
            " " + figure(fan.GBps) + " GB/s";
  }
  return text;
}

std::string nicText(const Host& host, int nic) {
  const topo::Nic& n = host.nics[static_cast<size_t>(nic)];
  std::string text = "NIC " + nameOf(host, n);
  if (!n.interfaceName.empty() && n.interfaceName != nameOf(host, n))
    text += " (" + n.interfaceName + ")";
  if (!n.linkLayer.empty()) text += " " + n.linkLayer;
  text +=
      n.mbps > 0 ? " " + figure(static_cast<double>(n.mbps) / 1000) + " Gbit/s" : " speed unknown";
  if (!n.state.empty()) text += " " + n.state;
  if (n.queues > 0)
    text += ", " + std::to_string(n.queues) + (n.queues == 1 ? " queue" : " queues");
  if (n.rail >= 0) text += ", rail " + std::to_string(n.rail);
  return text;
}

std::string topoTree(const Host& host) {
  const auto count = [](size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  std::string out = host.format + (host.name.empty() ? "" : ", " + host.name) + ": " +
                    count(host.numa.size(), "NUMA node") + ", " + count(host.gpus.size(), "GPU") +
                    ", " + count(host.nics.size(), "NIC") + "\n\n";
  Branches branches(host);
  for (size_t i = 0; i < host.numa.size(); ++i)
    out += numaText(host.numa[i], host.allowed) + "\n" + branches.of(static_cast<int>(i));
  if (const std::string rest = branches.of(-1); !rest.empty()) out += "NUMA node unknown\n" + rest;
  out += matrix(host) + limitsText(host);
  if (host.unknownParts > 0)
    out +=
        "\n" + std::to_string(host.unknownParts) + " attributes or elements are not known here\n";
  for (const std::string& note : host.notes) out += note + "\n";
  return out;
}

}  // namespace autoccl::cli
