// One host as its topology: NUMA nodes, the PCIe tree, GPUs, NVLink and xGMI, NICs. What a source
// does not say is unknown and stays so: -1, or an empty text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/cpu_set.h"
#include "topo/xml.h"

namespace autoccl::topo {

/// `extra` holds attributes that we do not know, as they were read, in every part of a host.
struct NumaNode {
  int id = -1;
  CpuSet cpus;
  std::string arch, vendor;  // "x86_64", "GenuineIntel"
  int family = -1, model = -1;
  int64_t memoryBytes = -1;
  int line = 0;
  Attributes extra;
};

struct PciDevice {
  std::string busId;  // "0000:0a:00.0", lower case
  int numa = -1;      // index into Host::numa
  int parent = -1;    // index into Host::pci, always smaller than the own; -1: at the root
  std::string deviceClass, vendor, device, subsystemVendor, subsystemDevice;  // "0x030200"
  std::string linkSpeed;           // as written: "16.0 GT/s PCIe"
  int linkWidth = -1;              // lanes
  double currentGBps = 0;          // of hwloc, which says neither speed nor width; 0: unknown
  std::vector<std::string> peers;  // bus ids of switches joined side by side (pcilink)
  int acs = -1;                    // 1: peer requests are redirected upwards
  std::string rootBus;             // "pci0000:00", where the live machine says it
  int line = 0;
  bool hasSpeed = false, hasWidth = false;  // the attribute stands in the file, be it empty
  Attributes extra;
};

enum class LinkKind : uint8_t { kNvlink, kXgmi, kC2c };

/// A bundle of links from a GPU. Its target is a GPU's bus id, or an NVSwitch's or CPU's.
struct GpuLink {
  LinkKind kind = LinkKind::kNvlink;
  std::string target;
  int count = -1;
  std::string targetClass;  // "0x068000": a switch
  int mbps = -1;            // C2C alone: MB/s of one
  int line = 0;
  Attributes extra;
};

struct Gpu {
  int pci = -1;           // index into Host::pci; -1: the source names no bus id
  int numa = -1;          // index into Host::numa
  bool declared = false;  // by a <gpu> element; else known by its PCI class alone
  int index = -1;         // as NVML counts ("dev")
  int rank = -1;
  int computeCapability = -1;  // "sm", 90; of AMD its number of compute units
  int gpuDirect = -1;          // 0 or 1
  std::string model;           // "NVIDIA H200", "gfx942"
  std::string gcn, amdArch;    // RCCL's attributes
  std::vector<GpuLink> links;
  int line = 0;
  Attributes extra;
};

struct Nic {
  int pci = -1;
  int numa = -1;
  bool declared = false;  // by a <net> element
  std::string name;       // "mlx5_0"
  int index = -1;         // "dev"
  int64_t mbps = 0;       // 0: unknown
  bool hasSpeed = false;
  int port = -1;
  std::string guid, latency;
  int64_t maxConnections = -1;
  int gpuDirect = -1, collective = -1;
  int rail = -1, plane = -1;
  std::string linkLayer, state;  // "InfiniBand", "Ethernet"; "ACTIVE", "down"
  std::string interfaceName;     // of the network device: "eth0"
  std::string address;           // "10.0.1.7/24"
  int queues = -1;
  bool rdma = false;
  int line = 0;
  Attributes extra;
};

/// How near two devices are; a larger one is farther. As NCCL orders them, with NODE of nvidia-smi
/// between PHB and SYS.
enum class PathClass : uint8_t {
  kSelf,
  kNvlink,
  kNvlinkHop,
  kC2c,
  kPix,
  kPxb,
  kPhb,
  kNode,
  kSys,
  kNone,
  kUnknown
};
[[nodiscard]] const char* toText(PathClass) noexcept;  // "X", "NVL", "NVB", "C2C", "PIX", …

/// A path that the source states instead of a tree (nvidia-smi topo -m). Ends count GPUs first,
/// then NICs.
struct StatedPath {
  PathClass path = PathClass::kUnknown;
  int links = 0;  // of NVLink: how many
};

/// Limits of the container or cgroup this was read in. 0: unknown.
struct Limits {
  uint64_t shmBytes = 0, shmFreeBytes = 0;  // /dev/shm
  uint64_t memlockBytes = 0;                // UINT64_MAX: none
  double cgroupCpus = 0;                    // quota/period; 0: none or unknown
};

struct Host {
  std::string name;    // of the host or the platform; may be empty
  std::string format;  // "NCCL topology (version 1)", "/sys", …
  std::vector<NumaNode> numa;
  std::vector<PciDevice> pci;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  std::vector<std::vector<StatedPath>> stated;  // square over gpus, then nics; empty: by the tree
  CpuSet allowed;                               // CPUs that this process may use; live alone
  Limits limits;
  std::string iommu;     // "on", "off", "passthrough"; live alone
  int xmlVersion = 0;    // of an NCCL file
  int elements = 0;      // of the file
  int unknownParts = 0;  // attributes and elements that we do not know; they are kept or named
  Attributes extra;      // of the root element
  std::vector<std::string> notes;  // sentences: what was left out and why

  [[nodiscard]] int pciByBusId(std::string_view busId) const;  // index, or -1
  [[nodiscard]] int gpuByBusId(std::string_view busId) const;  // index, or -1
};

/// "GPU3", or the bus id; "mlx5_0", or the bus id.
[[nodiscard]] std::string nameOf(const Host& host, const Gpu& gpu);
[[nodiscard]] std::string nameOf(const Host& host, const Nic& nic);

/// Lower case and a domain of four digits, as /sys writes it; NVML writes eight. Text that is no
/// bus id comes back lower-cased.
[[nodiscard]] std::string normalBusId(std::string_view busId);

/// What a device is by its PCI class; kOther where the class is unknown.
enum class DeviceKind : uint8_t { kGpu, kNic, kBridge, kNvSwitch, kCpuBridge, kOther };
[[nodiscard]] DeviceKind kindOf(std::string_view pciClass) noexcept;

}  // namespace autoccl::topo
