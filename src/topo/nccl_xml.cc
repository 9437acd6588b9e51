#include "topo/nccl_xml.h"

#include "topo/attributes.h"
#include "topo/words.h"
#include "topo/xml.h"

namespace autoccl::topo {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Host run(std::string_view text) {
    const XmlElement root = parseXml(text, file_);
    if (root.name != "system")
      refuse(file_, root.line,
             "the root is <" + root.name + ">; a topology of NCCL begins with <system>");
    AttributeTaker a(root, file_);
    ++host_.elements;
    a.number("version", host_.xmlVersion);
    a.text("name", host_.name);
    keep(a, host_.extra);
    host_.format = "NCCL topology (version " + std::to_string(host_.xmlVersion) + ")";
    for (const XmlElement& child : root.children)
      if (child.name == "cpu")
        cpu(child);
      else
        passOver(child, root);
    return std::move(host_);
  }

 private:
  void keep(const AttributeTaker& a, Attributes& into) {
    into = a.rest();
    host_.unknownParts += static_cast<int>(into.size());
  }
  void passOver(const XmlElement& element, const XmlElement& parent) {
    ++host_.unknownParts;
    host_.notes.push_back(file_ + ":" + std::to_string(element.line) + ": <" + element.name +
                          "> inside <" + parent.name + "> is not known and left out, as in NCCL");
  }

  void cpu(const XmlElement& element) {
    NumaNode node;
    node.line = element.line;
    ++host_.elements;
    AttributeTaker a(element, file_);
    std::string mask;
    a.number("numaid", node.id);
    if (a.text("affinity", mask) && !trimmed(mask).empty()) {
      const auto cpus = CpuSet::fromMask(mask);
      if (!cpus) refuse(file_, element.line, "affinity '" + mask + "' is no mask of CPUs");
      node.cpus = *cpus;
    }
    a.text("arch", node.arch);
    a.text("vendor", node.vendor);
    a.number("familyid", node.family);
    a.number("modelid", node.model);
    keep(a, node.extra);
    const int index = static_cast<int>(host_.numa.size());
    host_.numa.push_back(std::move(node));
    for (const XmlElement& child : element.children)
      if (child.name == "pci")
        pci(child, index, -1);
      else if (child.name == "nic")
        nic(child, index, -1);
      else
        passOver(child, element);
  }

  PciDevice device(const XmlElement& element) {
    PciDevice d;
    d.line = element.line;
    AttributeTaker a(element, file_);
    if (!a.text("busid", d.busId)) refuse(file_, element.line, "<pci> without busid");
    d.busId = normalBusId(d.busId);
    a.text("class", d.deviceClass);
    a.text("vendor", d.vendor);
    a.text("device", d.device);
    a.text("subsystem_vendor", d.subsystemVendor);
    a.text("subsystem_device", d.subsystemDevice);
    d.hasSpeed = a.text("link_speed", d.linkSpeed);
    d.hasWidth = a.number("link_width", d.linkWidth);
    keep(a, d.extra);
    return d;
  }

  void pci(const XmlElement& element, int numa, int parent) {
    ++host_.elements;
    PciDevice d = device(element);
    d.numa = numa;
    d.parent = parent;
    const int index = static_cast<int>(host_.pci.size());
    const DeviceKind kind = kindOf(d.deviceClass);
    host_.pci.push_back(std::move(d));
    const size_t gpus = host_.gpus.size(), nics = host_.nics.size();
    for (const XmlElement& child : element.children) {
      if (child.name == "pci")
        pci(child, numa, index);
      else if (child.name == "gpu")
        gpu(child, numa, index);
      else if (child.name == "nic")
        nic(child, numa, index);
      else if (child.name == "pcilink")
        peer(child, index);
      else
        passOver(child, element);
    }
    if (kind == DeviceKind::kGpu && host_.gpus.size() == gpus) byClass(host_.gpus, numa, index);
    if (kind == DeviceKind::kNic && host_.nics.size() == nics) byClass(host_.nics, numa, index);
  }

  template <class Device>
  void byClass(std::vector<Device>& all, int numa, int index) {
    Device d;
    d.pci = index;
    d.numa = numa;
    d.line = host_.pci[static_cast<size_t>(index)].line;
    all.push_back(std::move(d));
  }

  void peer(const XmlElement& element, int device) {
    ++host_.elements;
    std::string target;
    AttributeTaker(element, file_).text("target", target);
    host_.pci[static_cast<size_t>(device)].peers.push_back(normalBusId(target));
  }

  void gpu(const XmlElement& element, int numa, int device) {
    ++host_.elements;
    Gpu g;
    g.pci = device;
    g.numa = numa;
    g.declared = true;
    g.line = element.line;
    AttributeTaker a(element, file_);
    a.number("dev", g.index);
    a.number("sm", g.computeCapability);
    a.number("rank", g.rank);
    a.number("gdr", g.gpuDirect);
    a.text("gcn", g.gcn);
    a.text("arch", g.amdArch);
    keep(a, g.extra);
    for (const XmlElement& child : element.children)
      if (child.name == "nvlink" || child.name == "xgmi" || child.name == "c2c")
        link(child, g);
      else
        passOver(child, element);
    host_.gpus.push_back(std::move(g));
  }

  void link(const XmlElement& element, Gpu& gpu) {
    ++host_.elements;
    GpuLink l;
    l.line = element.line;
    l.kind = element.name == "xgmi"  ? LinkKind::kXgmi
             : element.name == "c2c" ? LinkKind::kC2c
                                     : LinkKind::kNvlink;
    AttributeTaker a(element, file_);
    if (a.text("target", l.target)) l.target = normalBusId(l.target);
    a.number("count", l.count);
    a.text("tclass", l.targetClass);
    a.number("bw", l.mbps);
    keep(a, l.extra);
    gpu.links.push_back(std::move(l));
  }

  void nic(const XmlElement& element, int numa, int device) {
    ++host_.elements;
    for (const XmlElement& child : element.children)
      if (child.name == "net")
        net(child, numa, device);
      else
        passOver(child, element);
  }

  void net(const XmlElement& element, int numa, int device) {
    ++host_.elements;
    Nic n;
    n.pci = device;
    n.numa = numa;
    n.declared = true;
    n.line = element.line;
    AttributeTaker a(element, file_);
    a.text("name", n.name);
    a.number("dev", n.index);
    n.hasSpeed = a.number("speed", n.mbps);
    a.number("port", n.port);
    a.text("latency", n.latency);
    a.text("guid", n.guid);
    a.number("maxconn", n.maxConnections);
    a.number("gdr", n.gpuDirect);
    a.number("coll", n.collective);
    a.number("rail", n.rail);
    a.number("plane", n.plane);
    keep(a, n.extra);
    host_.nics.push_back(std::move(n));
  }

  const std::string& file_;
  Host host_;
};

/// Writes elements with the blanks that NCCL's reader bears.
class Writer {
 public:
  Writer(const Host& host, XmlDialect dialect)
      : host_(host),
        rccl_(dialect == XmlDialect::kRccl),
        below_(host.pci.size()),
        roots_(host.numa.size()),
        gpus_(host.pci.size()),
        nics_(host.pci.size()) {
    const auto place = [](auto& lists, int at, size_t i) {
      if (at >= 0) lists[static_cast<size_t>(at)].push_back(i);
    };
    for (size_t i = 0; i < host.pci.size(); ++i)
      host.pci[i].parent >= 0 ? place(below_, host.pci[i].parent, i)
                              : place(roots_, host.pci[i].numa, i);
    for (size_t i = 0; i < host.gpus.size(); ++i)
      if (host.gpus[i].declared) place(gpus_, host.gpus[i].pci, i);
    for (size_t i = 0; i < host.nics.size(); ++i)
      if (host.nics[i].declared && host.nics[i].pci >= 0) place(nics_, host.nics[i].pci, i);
  }

  std::string run() {
    open("system");
    number("version", rccl_ ? 2 : 1);
    text("name", host_.name);
    rest(host_.extra);
    enter();
    for (size_t i = 0; i < host_.numa.size(); ++i) cpu(i);
    leave("system");
    return std::move(out_);
  }

 private:
  void open(const char* name) { out_ += std::string(2 * depth_, ' ') + "<" + name; }
  void enter() {
    out_ += ">\n";
    ++depth_;
  }
  void single() { out_ += "/>\n"; }
  void leave(const char* name) {
    --depth_;
    out_ += std::string(2 * depth_, ' ') + "</" + name + ">\n";
  }
  void always(const char* key, const std::string& value) {
    out_ += std::string(" ") + key + "=\"" + xmlEscaped(value) + "\"";
  }
  void text(const char* key, const std::string& value) {
    if (!value.empty()) always(key, value);
  }
  void number(const char* key, int64_t value) {
    if (value >= 0) always(key, std::to_string(value));
  }
  void rest(const Attributes& extra) {
    for (const auto& [key, value] : extra) always(key.c_str(), value);
  }

  void cpu(size_t index) {
    const NumaNode& node = host_.numa[index];
    open("cpu");
    always("numaid", std::to_string(node.id));
    if (!node.cpus.empty()) text("affinity", node.cpus.mask());
    text("arch", node.arch);
    text("vendor", node.vendor);
    number("familyid", node.family);
    number("modelid", node.model);
    rest(node.extra);
    enter();
    for (const size_t i : roots_[index]) device(i);
    std::vector<size_t> bare;  // NICs that are no PCI device
    for (size_t i = 0; i < host_.nics.size(); ++i)
      if (host_.nics[i].declared && host_.nics[i].pci < 0 &&
          host_.nics[i].numa == static_cast<int>(index))
        bare.push_back(i);
    nics(bare);
    leave("cpu");
  }

  void device(size_t index) {
    const PciDevice& d = host_.pci[index];
    open("pci");
    always("busid", d.busId);
    text("class", d.deviceClass);
    text("vendor", d.vendor);
    text("device", d.device);
    text("subsystem_vendor", d.subsystemVendor);
    text("subsystem_device", d.subsystemDevice);
    if (d.hasSpeed || !d.linkSpeed.empty()) always("link_speed", d.linkSpeed);
    if (d.linkWidth >= 0)
      number("link_width", d.linkWidth);
    else if (d.hasWidth)
      always("link_width", "");
    rest(d.extra);
    enter();
    for (const size_t i : gpus_[index]) gpu(host_.gpus[i]);
    nics(nics_[index]);
    for (const std::string& peer : d.peers) {
      open("pcilink");
      always("target", peer);
      single();
    }
    for (const size_t i : below_[index]) device(i);
    leave("pci");
  }

  void gpu(const Gpu& g) {
    open("gpu");
    number("dev", g.index);
    number("sm", g.computeCapability);
    if (rccl_) text("gcn", g.gcn);
    if (rccl_) text("arch", g.amdArch);
    number("rank", g.rank);
    number("gdr", g.gpuDirect);
    rest(g.extra);
    enter();
    for (const GpuLink& l : g.links) link(l);
    leave("gpu");
  }

  void link(const GpuLink& l) {
    const bool xgmi = l.kind == LinkKind::kXgmi && rccl_;
    open(l.kind == LinkKind::kC2c ? "c2c" : xgmi ? "xgmi" : "nvlink");
    text("target", l.target);
    number("bw", l.mbps);
    number("count", l.count);
    // NCCL takes targets of class 0x12 (AMD's GPUs) for a switch.
    const bool amd = !xgmi && l.targetClass.starts_with("0x12");
    text("tclass", amd ? "0x030000" : l.targetClass);
    rest(l.extra);
    single();
  }

  void nics(const std::vector<size_t>& which) {
    if (which.empty()) return;
    open("nic");
    enter();
    for (const size_t i : which) net(host_.nics[i]);
    leave("nic");
  }

  void net(const Nic& n) {
    open("net");
    text("name", n.name);
    number("dev", n.index);
    text("latency", n.latency);
    if (n.hasSpeed || n.mbps > 0) always("speed", std::to_string(n.mbps));
    number("port", n.port);
    text("guid", n.guid);
    number("maxconn", n.maxConnections);
    number("gdr", n.gpuDirect);
    number("coll", n.collective);
    number("rail", n.rail);
    number("plane", n.plane);
    rest(n.extra);
    single();
  }

  using Lists = std::vector<std::vector<size_t>>;
  const Host& host_;
  bool rccl_;
  Lists below_, roots_, gpus_, nics_;  // by parent, by NUMA node, by device
  size_t depth_ = 0;
  std::string out_;
};

}  // namespace

Host readNcclXml(std::string_view text, const std::string& file) {
  return Reader(file).run(text);
}

std::string writeNcclXml(const Host& host, XmlDialect dialect) {
  return Writer(host, dialect).run();
}

}  // namespace autoccl::topo
