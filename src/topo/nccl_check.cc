#include "topo/nccl_check.h"

#include <algorithm>
#include <array>
#include <set>

#include "topo/host.h"
#include "topo/nccl_scan.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

constexpr const char* kFails = "NCCL ends with an error, and so does every communicator";

class Checker {
 public:
  Checker(const std::string& file, bool rccl) : file_(file), rccl_(rccl) {}

  std::vector<Finding> run(std::string_view text) {
    const NcclScan scan = scanAsNccl(text, rccl_);
    if (!scan.fault.empty())
      add(scan.faultLine, scan.fault,
          "write the file as NCCL does: autoccl topo export makes it so");
    if (scan.fault.empty() && scan.root.children.empty())
      add(0, "there is no <system>", "give a topology of NCCL");
    for (const XmlElement& child : scan.root.children) system(child);
    return std::move(findings_);
  }

 private:
  void add(int line, const std::string& what, const std::string& fix) {
    const std::string where = line > 0 ? file_ + ":" + std::to_string(line) : file_;
    findings_.push_back({where, what, kFails, fix, "topo-nccl-reader"});
  }
  /// The attribute's text; a finding where it is not there.
  const std::string* need(const XmlElement& element, const char* key, const std::string& fix) {
    const std::string* value = element.find(key);
    if (value == nullptr) add(element.line, "<" + element.name + "> has no attribute " + key, fix);
    return value;
  }

  void system(const XmlElement& element) {
    const std::string* version = need(element, "version", "write version=\"1\"");
    const int64_t wanted = rccl_ ? 2 : 1;
    if (version != nullptr && numberAsC(*version) != wanted)
      add(element.line, "version is " + *version, "NCCL reads version 1");
    for (const XmlElement& child : element.children) cpu(child);
    for (const XmlElement& child : element.children) links(child, nullptr);
  }

  void cpu(const XmlElement& element) {
    constexpr const char* kFix =
        "write what /proc/cpuinfo of the machine says, or let autoccl topo "
        "export --cpu complete it";
    (void)need(element, "numaid", "number the NUMA nodes from 0");
    const std::string* arch = need(element, "arch", kFix);
    if (arch != nullptr && arch->starts_with("x86_64")) {
      const std::string* vendor = need(element, "vendor", kFix);
      const bool models = vendor != nullptr && (vendor->starts_with("GenuineIntel") ||
                                                vendor->starts_with("CentaurHauls") ||
                                                vendor->starts_with("  Shanghai  "));
      if (models) (void)need(element, "familyid", kFix);
      if (models) (void)need(element, "modelid", kFix);
    }
    for (const XmlElement& child : element.children)
      if (child.name == "pci") pci(child);
  }

  void pci(const XmlElement& element) {
    const std::string* type =
        need(element, "class", "0x030200 is a GPU, 0x020700 a NIC, 0x060400 a switch");
    const std::string* busId = need(element, "busid", "write it as /sys does: 0000:0a:00.0");
    (void)need(element, "link_width", "write the number of lanes, or 0 for 16");
    (void)need(element, "link_speed", "write for example \"32.0 GT/s PCIe\"");
    bool isNic = false;
    for (const XmlElement& child : element.children) {
      isNic = isNic || child.name == "nic";
      if (child.name == "gpu" && child.find("rank") == nullptr) return;  // NCCL leaves here
      if (child.name == "gpu") gpu(child, busId);
    }
    // A device of no class that NCCL knows is a switch, and all inside it must be PCI devices.
    if (isNic || (type != nullptr && !isSwitch(*type))) return;
    if (busId != nullptr) switches_.insert(numberOf(*busId));
    for (const XmlElement& child : element.children) {
      if (child.name == "gpu" && !rccl_ && type != nullptr)
        add(child.line,
            "a GPU inside a device of class " + *type + ", which NCCL takes for a switch",
            "write class=\"0x030200\"");
      if (child.name == "pci") pci(child);
    }
  }

  void gpu(const XmlElement& element, const std::string* busId) {
    for (const char* key : {"sm", "dev", "gdr"})
      (void)need(element, key, "take it from a dump of NCCL (NCCL_TOPO_DUMP_FILE)");
    if (busId != nullptr) gpus_.insert(numberOf(*busId));
  }

  bool isSwitch(std::string_view type) const {
    if (rccl_ && type.starts_with("0x12")) return false;
    constexpr std::array<std::string_view, 4> kOthers = {"0x068000", "0x068001", "0x03", "0x02"};
    return std::ranges::none_of(kOthers, [&](std::string_view c) { return type.starts_with(c); });
  }

  /// NCCL reads the hexadecimal digits of a bus id and nothing else.
  static uint64_t numberOf(const std::string& busId) {
    uint64_t value = 0;
    for (const char c : busId) {
      if (c == '.' || c == ':') continue;
      const size_t digit =
          std::string_view("0123456789abcdef").find(lower(std::string_view(&c, 1)));
      if (digit == std::string_view::npos) break;
      value = value << 4 | digit;
    }
    return value;
  }

  void links(const XmlElement& element, const std::string* busId) {
    if (const std::string* own = element.find("busid")) busId = own;
    for (const XmlElement& child : element.children) {
      if (child.name == "nvlink" || child.name == "c2c" || child.name == "xgmi")
        link(child, element, busId);
      else if (child.name == "pcilink")
        pcilink(child, busId);
      else
        links(child, busId);
    }
  }

  void link(const XmlElement& element, const XmlElement& gpu, const std::string* busId) {
    if (busId == nullptr || !gpus_.contains(numberOf(*busId)))
      return add(
          element.line, "<" + element.name + "> of a GPU that NCCL passes over, as it has no rank",
          "give the GPU of line " + std::to_string(gpu.line) + " its rank, or leave its links out");
    const bool bridge = element.name == "c2c";
    (void)need(element, "count", "write the number of links");
    if (bridge) (void)need(element, "bw", "write MB/s of one link");
    if (bridge) return;
    const std::string* target = need(element, "tclass", "0x068000 is an NVSwitch, 0x030200 a GPU");
    if (target != nullptr && kindOf(*target) == DeviceKind::kGpu)
      (void)need(element, "target", "write the bus id of the other GPU");
  }

  void pcilink(const XmlElement& element, const std::string* busId) {
    if (busId == nullptr || !switches_.contains(numberOf(*busId)))
      add(element.line, "<pcilink> inside a device that is no switch", "leave it out");
    (void)need(element, "target", "write the bus id of the other switch");
  }

  const std::string& file_;
  bool rccl_;
  std::vector<Finding> findings_;
  std::set<uint64_t> gpus_, switches_;
};

/// A root of version 2 is RCCL's.
bool isRccl(std::string_view text) {
  const size_t at = text.find("<system");
  if (at == text.npos) return false;
  const std::string_view tag = text.substr(at, text.find('>', at) - at);
  return tag.find("version=\"2\"") != tag.npos || tag.find("version='2'") != tag.npos;
}

}  // namespace

std::vector<Finding> ncclRefusals(std::string_view text, const std::string& file) {
  return Checker(file, isRccl(text)).run(text);
}

}  // namespace autoccl::topo
