#include "topo/discover.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>

#include "topo/bandwidth.h"
#include "topo/discover_nics.h"
#include "topo/sysfs.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

const std::string kDevices = "/sys/bus/pci/devices/";

/// The value of "key : value" in a text of such lines.
std::string valueOf(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon != line.npos && trimmed(line.substr(0, colon)) == key)
      return std::string(trimmed(line.substr(colon + 1)));
  }
  return "";
}

std::string archOf(const SysTree& tree, std::string_view cpuinfo) {
  if (tree.live()) {
    utsname name{};
    if (uname(&name) != 0) return "";
    const std::string machine = name.machine;
    return machine == "aarch64" ? "arm64" : machine == "ppc64le" ? "ppc64" : machine;
  }
  if (!valueOf(cpuinfo, "vendor_id").empty()) return "x86_64";
  return valueOf(cpuinfo, "CPU implementer").empty() ? "" : "arm64";
}

void numaNodes(const SysTree& tree, Host& host) {
  const std::string cpuinfo = tree.bytes("/proc/cpuinfo");
  NumaNode same;
  same.arch = archOf(tree, cpuinfo);
  same.vendor = valueOf(cpuinfo, "vendor_id");
  same.family = static_cast<int>(wholeNumber(valueOf(cpuinfo, "cpu family")).value_or(-1));
  same.model = static_cast<int>(wholeNumber(valueOf(cpuinfo, "model")).value_or(-1));
  const std::string folder = "/sys/devices/system/node/";
  for (const std::string& name : tree.names(folder)) {
    const auto id = name.starts_with("node") ? wholeNumber(name.substr(4)) : std::nullopt;
    if (!id) continue;
    NumaNode node = same;
    node.id = static_cast<int>(*id);
    node.cpus = CpuSet::fromList(tree.text(folder + name + "/cpulist")).value_or(CpuSet());
    const std::string memory = valueOf(tree.bytes(folder + name + "/meminfo"),
                                       "Node " + std::to_string(*id) + " MemTotal");
    node.memoryBytes = wholeNumber(memory.substr(0, memory.find(' '))).value_or(-1);
    if (node.memoryBytes > 0) node.memoryBytes <<= 10;
    host.numa.push_back(std::move(node));
  }
  std::ranges::sort(host.numa, {}, &NumaNode::id);
  if (!host.numa.empty()) return;
  same.cpus = CpuSet::fromList(tree.text("/sys/devices/system/cpu/online")).value_or(CpuSet());
  host.numa.push_back(std::move(same));
}

/// Index of the node; one that the kernel does not know (-1) gets an entry of its own.
int numaIndex(Host& host, int id) {
  const auto at = std::ranges::find(host.numa, id, &NumaNode::id);
  if (at != host.numa.end()) return static_cast<int>(at - host.numa.begin());
  if (host.numa.size() == 1) return 0;  // the kernel says -1 where there is one node
  NumaNode unknown = host.numa.front();
  unknown.id = id;
  unknown.cpus = CpuSet();
  unknown.memoryBytes = -1;
  host.numa.push_back(std::move(unknown));
  return static_cast<int>(host.numa.size()) - 1;
}

/// The slower of a device's and its port's link, and the narrower.
void linkOf(const SysTree& tree, const std::string& folder, PciDevice& d) {
  const std::string own = tree.text(folder + "/max_link_speed");
  const std::string port = tree.text(folder + "/../max_link_speed");
  const auto a = gigatransfers(own), b = gigatransfers(port);
  d.linkSpeed = a && (!b || *a <= *b) ? own : b ? port : "";
  d.hasSpeed = !d.linkSpeed.empty();
  const int64_t width = tree.number(folder + "/max_link_width", -1);
  const int64_t portWidth = tree.number(folder + "/../max_link_width", -1);
  d.linkWidth = static_cast<int>(width > 0 && portWidth > 0 ? std::min(width, portWidth)
                                                            : std::max(width, portWidth));
  d.hasWidth = d.linkWidth > 0;
}

/// ACS control of a bridge: 1 where peer requests or completions are redirected upwards. The
/// extended part of the configuration space is for root alone; then it stays unknown.
int acsOf(const std::string& config) {
  const auto byte = [&](size_t at) {
    return at < config.size() ? static_cast<uint8_t>(config[at]) : 0U;
  };
  const auto word = [&](size_t at) { return byte(at) | byte(at + 1) << 8; };
  if (config.size() < 0x104) return -1;
  constexpr unsigned kAcs = 0x000d, kRedirects = 0x000c;
  size_t at = 0x100;
  for (int hops = 0; at >= 0x100 && at + 8 <= config.size() && hops < 64; ++hops) {
    if (word(at) == kAcs) return (word(at + 6) & kRedirects) != 0 ? 1 : 0;
    at = word(at + 2) >> 4;
  }
  return 0;
}

class PciTree {
 public:
  PciTree(const SysTree& tree, Host& host) : tree_(tree), host_(host) {}

  void run() {
    std::vector<std::string> paths;
    for (const std::string& id : tree_.names(kDevices))
      if (isBusId(id) && wanted(kDevices + id)) paths.push_back(tree_.target(kDevices + id));
    for (const std::string& path : paths) add(path);
    for (size_t i = 0; i < host_.pci.size(); ++i) endpoint(static_cast<int>(i));
  }

 private:
  bool wanted(const std::string& folder) const {
    const std::string text = tree_.text(folder + "/class");
    const DeviceKind kind = kindOf(text);
    if (kind == DeviceKind::kGpu) return isComputeGpu(tree_.text(folder + "/vendor"));
    return kind == DeviceKind::kNic || kind == DeviceKind::kNvSwitch;
  }
  static bool isComputeGpu(const std::string& vendor) {
    return vendor == "0x10de" || vendor == "0x1002" || vendor == "0x8086";
  }

  /// The device and the bridges above it, outermost first. Returns its index.
  int add(const std::string& path) {
    int parent = -1;
    std::string folder, rootBus;
    for (const std::string_view part : split(path, '/')) {
      if (part.empty()) continue;
      folder += "/" + std::string(part);
      if (part.starts_with("pci")) rootBus = part;
      if (isBusId(part)) parent = one(folder, std::string(part), parent, rootBus);
    }
    return parent;
  }

  int one(const std::string& folder, const std::string& id, int parent, const std::string& root) {
    if (const int known = host_.pciByBusId(id); known >= 0) return known;
    PciDevice d;
    d.busId = id;
    d.parent = parent;
    d.rootBus = root;
    d.numa = numaIndex(host_, static_cast<int>(tree_.number(folder + "/numa_node", -1)));
    d.deviceClass = tree_.text(folder + "/class");
    d.vendor = tree_.text(folder + "/vendor");
    d.device = tree_.text(folder + "/device");
    d.subsystemVendor = tree_.text(folder + "/subsystem_vendor");
    d.subsystemDevice = tree_.text(folder + "/subsystem_device");
    linkOf(tree_, folder, d);
    if (kindOf(d.deviceClass) == DeviceKind::kBridge)
      d.acs = acsOf(tree_.bytes(folder + "/config"));
    host_.pci.push_back(std::move(d));
    return static_cast<int>(host_.pci.size()) - 1;
  }

  void endpoint(int index) {
    const PciDevice& d = host_.pci[static_cast<size_t>(index)];
    if (kindOf(d.deviceClass) != DeviceKind::kGpu || !isComputeGpu(d.vendor)) return;
    Gpu gpu;
    gpu.pci = index;
    gpu.numa = d.numa;
    host_.gpus.push_back(std::move(gpu));
  }

  const SysTree& tree_;
  Host& host_;
};

std::string iommuOf(const SysTree& tree) {
  const std::string words = " " + tree.text("/proc/cmdline") + " ";
  if (tree.names("/sys/kernel/iommu_groups").empty()) return "off";
  const bool through =
      words.find("iommu=pt ") != words.npos || words.find("iommu.passthrough=1 ") != words.npos;
  return through ? "passthrough" : "on";
}

/// CPUs by the cgroup's quota; 0 where there is none.
double cgroupCpus(const SysTree& tree) {
  const std::string text = tree.text("/sys/fs/cgroup/cpu.max");
  const auto parts = split(text, ' ');
  if (parts.size() == 2) {
    const auto quota = wholeNumber(parts[0]), period = wholeNumber(parts[1]);
    return quota && period && *period > 0
               ? static_cast<double>(*quota) / static_cast<double>(*period)
               : 0;
  }
  const int64_t quota = tree.number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1);
  const int64_t period = tree.number("/sys/fs/cgroup/cpu/cpu.cfs_period_us", 0);
  return quota > 0 && period > 0 ? static_cast<double>(quota) / static_cast<double>(period) : 0;
}

void limits(const SysTree& tree, Host& host) {
  host.limits.cgroupCpus = cgroupCpus(tree);
  if (!tree.live()) return;
  struct statvfs space {};
  if (statvfs("/dev/shm", &space) == 0) {
    host.limits.shmBytes = uint64_t{space.f_blocks} * space.f_frsize;
    host.limits.shmFreeBytes = uint64_t{space.f_bavail} * space.f_frsize;
  }
  rlimit locked{};
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0)
    host.limits.memlockBytes = locked.rlim_cur == RLIM_INFINITY ? UINT64_MAX : locked.rlim_cur;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &cpus)) host.allowed.add(cpu);
}

}  // namespace

Host discover(const std::string& root) {
  const SysTree tree(root);
  Host host;
  host.format = "/sys" + (root.empty() ? std::string() : " of " + root);
  host.name = tree.text("/proc/sys/kernel/hostname");
  numaNodes(tree, host);
  PciTree(tree, host).run();
  addNics(tree, host);
  host.iommu = iommuOf(tree);
  limits(tree, host);
  return host;
}

}  // namespace autoccl::topo
