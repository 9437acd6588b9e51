#include "topo/discover.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "topo/paths.h"

namespace autoccl::topo {
namespace {

namespace fs = std::filesystem;

/// A tree of /sys as it is on a machine, gone at the end of the test.
class SavedTree {
 public:
  SavedTree() {
    std::string name = testing::TempDir() + "autoccl-sysXXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~SavedTree() { fs::remove_all(root_); }
  SavedTree(const SavedTree&) = delete;
  SavedTree& operator=(const SavedTree&) = delete;

  void file(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path, std::ios::binary) << text;
  }
  void link(const std::string& path, const std::string& target) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    fs::create_directories(root_ + target);
    fs::create_symlink(root_ + target, root_ + path);
  }
  /// A device at `path`, below /sys/devices, with its link from the bus.
  void device(const std::string& path, const std::string& deviceClass, const std::string& vendor,
              const std::string& speed, int width, int numa) const {
    const std::string folder = "/sys/devices/" + path;
    file(folder + "/class", deviceClass + "\n");
    file(folder + "/vendor", vendor + "\n");
    file(folder + "/max_link_speed", speed + "\n");
    file(folder + "/max_link_width", std::to_string(width) + "\n");
    file(folder + "/numa_node", std::to_string(numa) + "\n");
    link("/sys/bus/pci/devices/" + path.substr(path.rfind('/') + 1), folder);
  }
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  std::string root_;
};

void twoSockets(const SavedTree& tree) {
  tree.file("/proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n");
  tree.file("/proc/sys/kernel/hostname", "box\n");
  for (int node = 0; node < 2; ++node) {
    const std::string folder = "/sys/devices/system/node/node" + std::to_string(node);
    tree.file(folder + "/cpulist", node == 0 ? "0-7\n" : "8-15\n");
    tree.file(folder + "/meminfo", "Node " + std::to_string(node) + " MemTotal:  1024 kB\n");
  }
  const std::string bridge = "pci0000:10/0000:10:01.0";
  tree.device(bridge, "0x060400", "0x1000", "32.0 GT/s PCIe", 16, 1);
  tree.device(bridge + "/0000:11:00.0", "0x030200", "0x10de", "32.0 GT/s PCIe", 16, 1);
  tree.device(bridge + "/0000:12:00.0", "0x020700", "0x15b3", "16.0 GT/s PCIe", 8, 1);
  tree.device("pci0000:00/0000:00:02.0", "0x030000", "0x1a03", "2.5 GT/s PCIe", 1, 0);
  tree.device("pci0000:00/0000:00:03.0", "0x020000", "0x1af4", "Unknown", 0, -1);
}

TEST(Discover, FindsSwitchesGpusAndNicsWithTheirLinks) {
  const SavedTree tree;
  twoSockets(tree);
  const Host host = discover(tree.root());
  EXPECT_EQ(host.name, "box");
  ASSERT_EQ(host.gpus.size(), 1U) << "a server's own display is none";
  EXPECT_EQ(host.numa[static_cast<size_t>(host.gpus[0].numa)].id, 1);
  const PciDevice& nic = host.pci[static_cast<size_t>(host.pciByBusId("0000:12:00.0"))];
  EXPECT_EQ(nic.linkSpeed, "16.0 GT/s PCIe");
  EXPECT_EQ(nic.linkWidth, 8) << "the narrower of device and port";
  EXPECT_EQ(nic.rootBus, "pci0000:10");
  EXPECT_EQ(host.numa[0].model, 143);
  EXPECT_EQ(host.numa[1].memoryBytes, 1 << 20);
  EXPECT_EQ(host.iommu, "off");
}

TEST(Discover, AnRdmaDeviceAndItsInterfaceAreOneNic) {
  const SavedTree tree;
  twoSockets(tree);
  const std::string device = "/sys/devices/pci0000:10/0000:10:01.0/0000:12:00.0";
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  tree.link("/sys/class/infiniband/mlx5_0/device", device);
  tree.file(port + "rate", "200 Gb/sec (4X HDR)\n");
  tree.file(port + "state", "4: ACTIVE\n");
  tree.file(port + "link_layer", "Ethernet\n");
  tree.link("/sys/class/net/eth2/device", device);
  tree.file("/sys/class/net/eth2/queues/rx-0/rps_cpus", "0\n");
  tree.file("/sys/class/net/eth2/queues/rx-1/rps_cpus", "0\n");
  tree.file("/sys/class/net/eth2/operstate", "up\n");
  tree.file("/sys/class/net/lo/operstate", "unknown\n");
  const Host host = discover(tree.root());
  ASSERT_EQ(host.nics.size(), 1U);
  const Nic& nic = host.nics[0];
  EXPECT_EQ(nic.name, "mlx5_0");
  EXPECT_EQ(nic.interfaceName, "eth2");
  EXPECT_EQ(nic.mbps, 200000);
  EXPECT_EQ(nic.state, "ACTIVE");
  EXPECT_EQ(nic.linkLayer, "Ethernet");
  EXPECT_EQ(nic.queues, 2);
  EXPECT_TRUE(nic.rdma);
  EXPECT_EQ(gpuToNic(host, 0, 0).path, PathClass::kPix);
  EXPECT_DOUBLE_EQ(nicWidth(host, 0), 12) << "8 lanes of 16 GT/s bound 25 GB/s";
}

TEST(Discover, AVirtioInterfaceHangsOnItsPciDevice) {
  const SavedTree tree;
  twoSockets(tree);
  tree.link("/sys/class/net/eth0/device", "/sys/devices/pci0000:00/0000:00:03.0/virtio0");
  tree.file("/sys/class/net/eth0/speed", "-1\n");
  const Host host = discover(tree.root());
  ASSERT_EQ(host.nics.size(), 1U);
  EXPECT_EQ(host.pci[static_cast<size_t>(host.nics[0].pci)].busId, "0000:00:03.0");
  EXPECT_EQ(host.nics[0].mbps, 0) << "-1 is unknown";
}

TEST(Discover, ReadsAcsWhereItMay) {
  const SavedTree tree;
  twoSockets(tree);
  std::string config(0x110, '\0');
  config[0x100] = 0x0d;  // ACS
  config[0x106] = 0x1d;  // its control: source validation, redirects, upstream forwarding
  tree.file("/sys/devices/pci0000:10/0000:10:01.0/config", config);
  const Host host = discover(tree.root());
  EXPECT_EQ(host.pci[static_cast<size_t>(host.pciByBusId("0000:10:01.0"))].acs, 1);
}

TEST(Discover, KnowsThisMachineWithNothingOfAGpuThere) {
  const Host host = discover();
  ASSERT_FALSE(host.numa.empty());
  EXPECT_GT(host.allowed.count(), 0U);
  EXPECT_FALSE(host.numa[0].arch.empty());
  EXPECT_GT(host.limits.shmBytes, 0U);
}

TEST(Discover, AnEmptyRootIsAHostOfWhichNothingIsKnown) {
  const SavedTree tree;
  const Host host = discover(tree.root());
  EXPECT_EQ(host.gpus.size() + host.nics.size() + host.pci.size(), 0U);
  EXPECT_EQ(host.numa[0].arch, "");
}

}  // namespace
}  // namespace autoccl::topo
