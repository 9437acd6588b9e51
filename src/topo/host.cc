#include "topo/host.h"

#include <algorithm>

#include "topo/words.h"

namespace autoccl::topo {

const char* toText(PathClass path) noexcept {
  switch (path) {
    case PathClass::kSelf:
      return "X";
    case PathClass::kNvlink:
      return "NVL";
    case PathClass::kNvlinkHop:
      return "NVB";
    case PathClass::kC2c:
      return "C2C";
    case PathClass::kPix:
      return "PIX";
    case PathClass::kPxb:
      return "PXB";
    case PathClass::kPhb:
      return "PHB";
    case PathClass::kNode:
      return "NODE";
    case PathClass::kSys:
      return "SYS";
    case PathClass::kNone:
      return "-";
    case PathClass::kUnknown:
      return "?";
  }
  return "?";
}

int Host::pciByBusId(std::string_view busId) const {
  const auto at = std::ranges::find(pci, busId, &PciDevice::busId);
  return at == pci.end() ? -1 : static_cast<int>(at - pci.begin());
}

int Host::gpuByBusId(std::string_view busId) const {
  const int device = pciByBusId(busId);
  const auto at = std::ranges::find(gpus, device, &Gpu::pci);
  return device < 0 || at == gpus.end() ? -1 : static_cast<int>(at - gpus.begin());
}

std::string nameOf(const Host& host, const Gpu& gpu) {
  if (gpu.index >= 0) return "GPU" + std::to_string(gpu.index);
  if (gpu.pci >= 0) return host.pci[static_cast<size_t>(gpu.pci)].busId;
  return "GPU?";
}

std::string nameOf(const Host& host, const Nic& nic) {
  if (!nic.name.empty()) return nic.name;
  if (!nic.interfaceName.empty()) return nic.interfaceName;
  if (nic.pci >= 0) return host.pci[static_cast<size_t>(nic.pci)].busId;
  return nic.index >= 0 ? "NIC" + std::to_string(nic.index) : "NIC?";
}

std::string normalBusId(std::string_view busId) {
  std::string id = lower(trimmed(busId));
  if (id.size() == 16 && id[8] == ':' && id.starts_with("0000")) id.erase(0, 4);
  return id;
}

DeviceKind kindOf(std::string_view pciClass) noexcept {
  if (pciClass.starts_with("0x068000")) return DeviceKind::kNvSwitch;
  if (pciClass.starts_with("0x068001")) return DeviceKind::kCpuBridge;
  if (pciClass.starts_with("0x03") || pciClass.starts_with("0x12")) return DeviceKind::kGpu;
  if (pciClass.starts_with("0x02")) return DeviceKind::kNic;
  if (pciClass.starts_with("0x0604")) return DeviceKind::kBridge;
  return DeviceKind::kOther;
}

}  // namespace autoccl::topo
