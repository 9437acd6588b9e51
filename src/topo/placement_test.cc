#include "topo/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "topo/lspci.h"
#include "topo/testing/hosts.h"

namespace autoccl::topo {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

std::vector<Finding> place(const Host& host, const Variables& variables, const CpuSet& cpus = {},
                           const CpuSet& nodes = {}) {
  const auto variable = [&](std::string_view name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  };
  return placementFindings({host, variable, cpus, nodes, "environment"});
}

/// One finding, of this rule.
::testing::AssertionResult only(const std::vector<Finding>& all, const std::string& rule) {
  if (all.size() == 1 && all[0].rule == rule) return ::testing::AssertionSuccess();
  auto failed = ::testing::AssertionFailure() << all.size() << " findings";
  for (const Finding& f : all) failed << "; " << f.rule << ": " << f.what;
  return failed;
}

Host namedHost() {
  Host host = fixtures::switchedHost(8, 2);
  host.nics[0].interfaceName = "eth0";
  host.nics[1].interfaceName = "ib0";
  return host;
}

TEST(Placement, AProcessWhereItsGpuIsHasNothingSaidAgainstIt) {
  EXPECT_TRUE(
      place(namedHost(), {{"LOCAL_RANK", "1"}}, *CpuSet::fromList("0-3"), *CpuSet::fromList("0"))
          .empty());
}

TEST(Placement, ACpuSetOfTheOtherSocketIsNamed) {
  const auto found = place(namedHost(), {{"LOCAL_RANK", "6"}}, *CpuSet::fromList("0-3"));
  ASSERT_TRUE(only(found, "placement-cpus"));
  EXPECT_EQ(found[0].what, "runs on CPUs 0-3, its GPU6 is at NUMA node 1 (CPUs 16-31)");
}

TEST(Placement, MemoryOfTheOtherSocketIsNamed) {
  EXPECT_TRUE(only(place(namedHost(), {{"CUDA_VISIBLE_DEVICES", "7"}, {"LOCAL_RANK", "0"}},
                         *CpuSet::fromList("16"), *CpuSet::fromList("0")),
                   "placement-memory"))
      << "the one visible device is GPU 7";
}

TEST(Placement, RdmaThatAVariableSwitchesOffIsNamed) {
  const auto found = place(namedHost(), {{"NCCL_IB_DISABLE", "1"}});
  ASSERT_TRUE(only(found, "placement-rdma-off"));
  EXPECT_EQ(found[0].what, "NCCL_IB_DISABLE=1 on a host with mlx5_0, mlx5_1");
  EXPECT_TRUE(place(namedHost(), {{"NCCL_IB_DISABLE", "0"}}).empty());
}

TEST(Placement, EfaKnowsNeitherThatSwitchNorForcedProtocols) {
  Host host = namedHost();
  for (Nic& n : host.nics) {
    n.rdma = false;
    host.pci[static_cast<size_t>(n.pci)].vendor = "0x1d0f";
    host.pci[static_cast<size_t>(n.pci)].device = "0xefa1";
  }
  EXPECT_TRUE(only(place(host, {{"NCCL_PROTO", "LL128,Simple"}}), "placement-efa-protocol"));
  EXPECT_TRUE(place(host, {{"NCCL_PROTO", "^LL128"}}).empty());
  const auto off = place(host, {{"NCCL_IB_DISABLE", "1"}});
  ASSERT_TRUE(only(off, "placement-rdma-off"));
  EXPECT_NE(off[0].fix.find("OFI plugin"), std::string::npos);
}

TEST(Placement, PatternsAreHeldAgainstTheRealInterfaces) {
  EXPECT_TRUE(only(place(namedHost(), {{"NCCL_SOCKET_IFNAME", "ens"}}), "placement-interface"));
  EXPECT_TRUE(only(place(namedHost(), {{"NCCL_IB_HCA", "=mlx5"}}), "placement-interface"));
  EXPECT_TRUE(
      place(namedHost(), {{"NCCL_SOCKET_IFNAME", "eth"}, {"NCCL_IB_HCA", "mlx5_1:1"}}).empty());
}

TEST(Placement, PatternsAreReadAsNcclReadsThem) {
  EXPECT_TRUE(matchesPattern("eth0", "eth"));
  EXPECT_FALSE(matchesPattern("eth0", "=eth"));
  EXPECT_TRUE(matchesPattern("eth0", "=ib0,eth0"));
  EXPECT_FALSE(matchesPattern("docker0", "^docker,lo"));
  EXPECT_TRUE(matchesPattern("eth0", "^docker,lo"));
  EXPECT_TRUE(matchesPattern("mlx5_3", "mlx5_3:1"));
  EXPECT_TRUE(matchesPattern("x", ""));
}

TEST(Placement, OneConnectionAndCollectivesThatOverlapAreNamed) {
  EXPECT_TRUE(
      only(place(namedHost(), {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}), "placement-connections"));
  EXPECT_TRUE(place(namedHost(), {{"CUDA_DEVICE_MAX_CONNECTIONS", "8"}}).empty());
}

// Case 54: /dev/shm of 16 MB and 64 MB in a container.
TEST(Placement, ASmallDevShmIsNamedWithWhatIsNeeded) {
  for (const uint64_t mb : {16, 64}) {
    Host host = namedHost();
    host.limits.shmBytes = host.limits.shmFreeBytes = mb << 20;
    const auto found = place(host, {});
    ASSERT_TRUE(only(found, "placement-shm"));
    EXPECT_EQ(found[0].what, "/dev/shm has " + std::to_string(mb << 20) +
                                 " bytes free; 8 ranks with 2 channels may need 154206208");
    EXPECT_EQ(found[0].fix, "start the container with --shm-size=211m or more");
  }
}

TEST(Placement, LimitsOfTheContainerAreNamed) {
  Host host = namedHost();
  host.limits.memlockBytes = 65536;
  EXPECT_TRUE(only(place(host, {}), "placement-memlock"));
  host.limits.memlockBytes = UINT64_MAX;
  host.limits.cgroupCpus = 4;
  EXPECT_TRUE(only(place(host, {}), "placement-cgroup"));
}

TEST(Placement, LaunchersThatCountOtherwiseAndRepeatedDevicesAreNamed) {
  EXPECT_TRUE(
      only(place(namedHost(), {{"WORLD_SIZE", "16"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}),
           "placement-launcher"));
  EXPECT_TRUE(
      place(namedHost(), {{"WORLD_SIZE", "8"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}})
          .empty());
  EXPECT_TRUE(only(place(namedHost(), {{"CUDA_VISIBLE_DEVICES", "0,1,0"}}), "placement-launcher"));
}

// Case 53: lspci -vvv of a bridge above GPUs.
TEST(Lspci, BridgesThatRedirectAreNamed) {
  const char* text =
      "3a:00.0 PCI bridge: Broadcom PEX890xx (prog-if 00 [Normal decode])\n"
      "\tCapabilities: [148 v1] Access Control Services\n"
      "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+\n"
      "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n"
      "\n"
      "3b:00.0 3D controller: NVIDIA H100\n"
      "\t\tACSCtl:\tSrcValid- ReqRedir+\n"
      "0000:40:01.0 PCI bridge: Intel\n"
      "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-\n";
  EXPECT_TRUE(looksLikeLspci(text));
  const auto found = lspciFindings(text, "f");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].where, "f:4");
  EXPECT_EQ(found[0].what, "bridge 3a:00.0 redirects peer requests (ACS)");
  EXPECT_FALSE(looksLikeLspci("ACSCtl: without a device\n"));
}

}  // namespace
}  // namespace autoccl::topo
