#include "topo/nccl_complete.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "topo/bandwidth.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

bool needsModel(const std::string& vendor) {
  return vendor == "GenuineIntel" || vendor == "CentaurHauls" || vendor == "  Shanghai  ";
}

bool complete(const CpuFacts& c) {
  if (c.arch.empty()) return false;
  if (c.arch != "x86_64") return true;
  return !c.vendor.empty() && (!needsModel(c.vendor) || (c.family >= 0 && c.model >= 0));
}

CpuFacts factsOf(const NumaNode& n) {
  return {n.arch, n.vendor, n.family, n.model};
}

class Completer {
 public:
  Completer(Host& host, const std::string& file, XmlDialect dialect)
      : host_(host), file_(file), dialect_(dialect) {}

  std::vector<std::string> run(const std::optional<CpuFacts>& cpu) {
    if (!host_.stated.empty())
      throw Error(ErrorCode::kInput, file_ + ": names no bus ids, without which NCCL has no device",
                  "give a dump of NCCL, or run this on the machine itself");
    cpus(cpu);
    homeless();
    for (PciDevice& d : host_.pci) device(d);
    gpus();
    if (dialect_ == XmlDialect::kNccl) forNccl();
    return std::move(said_);
  }

 private:
  void say(int line, const std::string& sentence) {
    said_.push_back((line > 0 ? file_ + ":" + std::to_string(line) : file_) + ": " + sentence);
  }

  void cpus(const std::optional<CpuFacts>& given) {
    std::optional<CpuFacts> known = given;
    for (const NumaNode& n : host_.numa)
      if (!known && complete(factsOf(n))) known = factsOf(n);
    for (NumaNode& n : host_.numa) {
      if (complete(factsOf(n))) continue;
      if (!known)
        throw Error(ErrorCode::kInput,
                    file_ + ":" + std::to_string(n.line) + ": the CPU of NUMA node " +
                        std::to_string(n.id) + " is not in the file, and NCCL needs it",
                    "give it: --cpu ARCH,VENDOR,FAMILY,MODEL, or --cpu here for this machine's");
      n.arch = known->arch;
      n.vendor = known->vendor;
      n.family = known->family;
      n.model = known->model;
      say(n.line, "NUMA node " + std::to_string(n.id) + " is written as " + n.arch + " " +
                      n.vendor + (given ? ", as you gave it" : ", as another socket of the file"));
    }
  }

  /// Devices of no NUMA node get one without number, as NCCL makes it.
  void homeless() {
    const bool any =
        std::ranges::any_of(host_.pci, [](const PciDevice& d) { return d.numa < 0; }) ||
        std::ranges::any_of(host_.nics, [](const Nic& n) { return n.numa < 0; });
    if (!any || host_.numa.empty()) return;
    auto at = std::ranges::find(host_.numa, -1, &NumaNode::id);
    if (at == host_.numa.end()) {
      NumaNode node = host_.numa.front();
      node.id = -1;
      node.cpus = CpuSet();
      host_.numa.push_back(std::move(node));
      at = host_.numa.end() - 1;
    }
    const int index = static_cast<int>(at - host_.numa.begin());
    for (PciDevice& d : host_.pci)
      if (d.numa < 0) d.numa = index;
    for (Nic& n : host_.nics)
      if (n.numa < 0) n.numa = index;
    say(0, "devices whose NUMA node is unknown are written below numaid -1");
  }

  void device(PciDevice& d) {
    if (d.deviceClass.empty()) {
      d.deviceClass = "0x060400";
      say(d.line,
          d.busId + " has no class; written as 0x060400, a switch, for which NCCL takes it");
    }
    if (!d.hasSpeed && d.linkSpeed.empty()) {
      d.linkSpeed = "8.0 GT/s PCIe";
      d.hasSpeed = true;
      say(d.line, d.busId + " has no link_speed; written as 8.0 GT/s PCIe, which NCCL assumes");
    } else if (const std::string right = ncclSpelling(d.linkSpeed); right != d.linkSpeed) {
      say(d.line, d.busId + ": link_speed \"" + d.linkSpeed + "\" is written as \"" + right +
                      "\", which NCCL knows");
      d.linkSpeed = right;
    }
    if (d.linkWidth < 0) {
      d.linkWidth = 16;
      say(d.line, d.busId + " has no link_width; written as 16, which NCCL assumes");
    }
  }

  /// A GPU without all of rank, dev, sm and gdr is left to NCCL, which finds those itself.
  void gpus() {
    for (Gpu& g : host_.gpus) {
      const bool whole =
          g.rank >= 0 && g.index >= 0 && g.computeCapability >= 0 && g.gpuDirect >= 0;
      if (!g.declared || whole) continue;
      g.declared = false;
      say(g.line,
          nameOf(host_, g) + " lacks rank, dev, sm or gdr; <gpu> is left out, NCCL fills it in");
    }
    links();
  }

  void links() {
    std::set<int> switches;
    for (size_t i = 0; i < host_.pci.size(); ++i)
      if (kindOf(host_.pci[i].deviceClass) == DeviceKind::kBridge)
        switches.insert(static_cast<int>(i));
    for (size_t i = 0; i < host_.pci.size(); ++i)
      if (!host_.pci[i].peers.empty() && !switches.contains(static_cast<int>(i))) {
        host_.pci[i].peers.clear();
        say(host_.pci[i].line, "<pcilink> of a device that is no switch is left out");
      }
    for (Gpu& g : host_.gpus)
      std::erase_if(g.links, [&](const GpuLink& l) {
        const bool bad = l.kind == LinkKind::kC2c ? l.count < 0 || l.mbps < 0
                                                  : l.count < 0 || l.targetClass.empty();
        if (bad && g.declared) say(l.line, "a link without count or tclass is left out");
        return bad;
      });
  }

  void forNccl() {
    bool amd = false;
    for (PciDevice& d : host_.pci)
      if (d.deviceClass.starts_with("0x12")) {
        d.deviceClass = "0x030000";
        amd = true;
      }
    if (amd) say(0, "GPUs of class 0x12 are written as 0x030000: NCCL takes 0x12 for a switch");
    const bool xgmi = std::ranges::any_of(host_.gpus, [](const Gpu& g) {
      return std::ranges::find(g.links, LinkKind::kXgmi, &GpuLink::kind) != g.links.end();
    });
    if (xgmi)
      say(0, "xGMI is written as NVLink, as NCCL knows no other; gcn and arch are left out");
  }

  Host& host_;
  const std::string& file_;
  XmlDialect dialect_;
  std::vector<std::string> said_;
};

}  // namespace

CpuFacts cpuFactsOf(std::string_view text) {
  const auto parts = split(text, ',');
  CpuFacts facts;
  if (!parts.empty()) facts.arch = parts[0];
  if (parts.size() > 1) facts.vendor = parts[1];
  if (parts.size() > 3) {
    facts.family = static_cast<int>(wholeNumber(parts[2]).value_or(-1));
    facts.model = static_cast<int>(wholeNumber(parts[3]).value_or(-1));
  }
  const bool known = facts.arch == "x86_64" || facts.arch == "arm64" || facts.arch == "ppc64";
  if (!known || parts.size() > 4 || !complete(facts))
    throw Error(ErrorCode::kUsage, "--cpu: '" + std::string(text) + "' is no CPU",
                "write it as x86_64,GenuineIntel,6,143, x86_64,AuthenticAMD,25,1, arm64 or here");
  return facts;
}

std::vector<std::string> completeForNccl(Host& host, const std::string& file,
                                         const std::optional<CpuFacts>& cpu, XmlDialect dialect) {
  return Completer(host, file, dialect).run(cpu);
}

}  // namespace autoccl::topo
