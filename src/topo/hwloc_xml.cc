#include "topo/hwloc_xml.h"

#include <algorithm>
#include <cstdlib>

#include "topo/attributes.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

/// Where an object hangs: its NUMA node if there is exactly one above it, the PCI device above it.
struct Place {
  int numa = -1;
  int device = -1;
  std::string rootBus;
};

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Host run(std::string_view text) {
    const XmlElement root = parseXml(text, file_);
    if (root.name != "topology")
      refuse(file_, root.line,
             "the root is <" + root.name + ">; a topology of hwloc begins with <topology>");
    numaNodes(root);
    objects(root, {});
    const std::string* version = root.find("version");
    host_.format = "hwloc topology" + (version ? " (version " + *version + ")" : std::string());
    return std::move(host_);
  }

 private:
  static std::string of(const XmlElement& element, std::string_view key) {
    const std::string* value = element.find(key);
    return value ? *value : std::string();
  }
  static std::string info(const XmlElement& object, std::string_view name) {
    for (const XmlElement& child : object.children)
      if (child.name == "info" && of(child, "name") == name) return of(child, "value");
    return "";
  }

  void numaNodes(const XmlElement& parent) {
    for (const XmlElement& child : parent.children) {
      if (child.name != "object") continue;
      if (of(child, "type") == "NUMANode" || of(child, "type") == "Node") numaNode(child);
      numaNodes(child);
    }
  }

  void numaNode(const XmlElement& object) {
    NumaNode node;
    node.line = object.line;
    node.id = static_cast<int>(wholeNumber(of(object, "os_index")).value_or(-1));
    node.cpus = CpuSet::fromMask(of(object, "cpuset")).value_or(CpuSet());
    node.memoryBytes = wholeNumber(of(object, "local_memory")).value_or(-1);
    host_.numa.push_back(std::move(node));
  }

  /// The NUMA node of an object's own node set, else that of its parent.
  int numaOf(const XmlElement& object, int above) const {
    const auto set = CpuSet::fromMask(of(object, "nodeset"));
    if (!set || set->count() != 1) return above;
    for (size_t i = 0; i < host_.numa.size(); ++i)
      if (host_.numa[i].id >= 0 && set->has(static_cast<size_t>(host_.numa[i].id)))
        return static_cast<int>(i);
    return above;
  }

  void objects(const XmlElement& parent, const Place& place) {
    for (const XmlElement& child : parent.children)
      if (child.name == "object") object(child, place);
  }

  void object(const XmlElement& element, const Place& above) {
    ++host_.elements;
    Place place = above;
    place.numa = numaOf(element, above.numa);
    const std::string type = of(element, "type");
    if (type == "Machine" && host_.name.empty()) host_.name = info(element, "HostName");
    if (type == "Machine" || type == "Package" || type == "Socket") cpuOf(element);
    if (type == "Bridge" && of(element, "bridge_type").starts_with("0"))
      place.rootBus = of(element, "bridge_pci");
    else if (type == "Bridge" || type == "PCIDev")
      place.device = device(element, place);
    else if (type == "OSDev" || type == "OS Device")
      osDevice(element, place.device);
    objects(element, place);
  }

  /// Vendor, family and model stand at the package; all nodes of a host get them.
  void cpuOf(const XmlElement& element) {
    const std::string vendor = info(element, "CPUVendor");
    const std::string arch = info(element, "Architecture");
    for (NumaNode& node : host_.numa) {
      if (!arch.empty()) node.arch = arch == "aarch64" ? "arm64" : arch;
      if (vendor.empty()) continue;
      node.vendor = vendor;
      node.family = static_cast<int>(wholeNumber(info(element, "CPUFamilyNumber")).value_or(-1));
      node.model = static_cast<int>(wholeNumber(info(element, "CPUModelNumber")).value_or(-1));
    }
  }

  int device(const XmlElement& element, const Place& place) {
    PciDevice d;
    d.line = element.line;
    d.busId = normalBusId(of(element, "pci_busid"));
    if (d.busId.empty()) refuse(file_, element.line, "a PCI object without pci_busid");
    d.numa = place.numa;
    d.parent = place.device;
    d.rootBus = place.rootBus;
    identity(of(element, "pci_type"), d, element.line);
    const std::string speed = of(element, "pci_link_speed");
    d.currentGBps = std::clamp(std::strtod(speed.c_str(), nullptr), 0.0, 10000.0);
    const int index = static_cast<int>(host_.pci.size());
    const DeviceKind kind = kindOf(d.deviceClass);
    host_.pci.push_back(std::move(d));
    if (kind == DeviceKind::kGpu) host_.gpus.push_back(onDevice<Gpu>(index, element));
    if (kind == DeviceKind::kNic) host_.nics.push_back(onDevice<Nic>(index, element));
    return index;
  }

  template <class Device>
  Device onDevice(int index, const XmlElement& element) {
    Device d;
    d.pci = index;
    d.numa = host_.pci[static_cast<size_t>(index)].numa;
    d.line = element.line;
    return d;
  }

  /// "0302 [10de:2330] [10de:16c1] a1": class, vendor:device, those of the subsystem, revision.
  void identity(const std::string& type, PciDevice& d, int line) const {
    const std::vector<std::string_view> words = split(type, ' ');
    if (words.empty() || words[0].size() != 4)
      refuse(file_, line, "pci_type '" + type + "' does not begin with a class of 4 digits");
    d.deviceClass = "0x" + lower(words[0]) + "00";
    const auto pair = [](std::string_view word, std::string& vendor, std::string& device) {
      if (word.size() != 11 || word[0] != '[' || word[5] != ':') return;
      vendor = "0x" + lower(word.substr(1, 4));
      device = "0x" + lower(word.substr(6, 4));
    };
    if (words.size() > 1) pair(words[1], d.vendor, d.device);
    if (words.size() > 2) pair(words[2], d.subsystemVendor, d.subsystemDevice);
  }

  void osDevice(const XmlElement& element, int device) {
    for (Nic& nic : host_.nics)
      if (nic.pci == device && device >= 0) nicNames(element, nic);
    for (Gpu& gpu : host_.gpus) {
      if (gpu.pci != device || device < 0) continue;
      const std::string model = info(element, "GPUModel");
      if (!model.empty()) gpu.model = model;
      const std::string name = of(element, "name");
      if (name.starts_with("nvml"))
        gpu.index = static_cast<int>(wholeNumber(name.substr(4)).value_or(-1));
    }
  }

  void nicNames(const XmlElement& element, Nic& nic) {
    const std::string guid = info(element, "NodeGUID");
    if (guid.empty()) {
      nic.interfaceName = of(element, "name");
      return;
    }
    nic.rdma = true;
    nic.name = of(element, "name");
    nic.guid = guid;
    const std::string state = info(element, "Port1State");
    if (!state.empty()) nic.state = state == "4" ? "ACTIVE" : "state " + state;
  }

  const std::string& file_;
  Host host_;
};

}  // namespace

Host readHwlocXml(std::string_view text, const std::string& file) {
  return Reader(file).run(text);
}

}  // namespace autoccl::topo
