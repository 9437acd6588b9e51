#include "store/nccl/lint_values.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace autoccl::nccl {
namespace {

/// What is said of a value; nothing where it is all right.
struct Remark {
  std::string consequence, fix;
};

constexpr std::array<std::string_view, 11> kLevels = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                      "P2C", "PXN", "PHB", "SYS", "DIS"};

bool isOn(std::string_view value) {
  return integerAsRead(std::string(value)) != 0;
}

/// NCCL_NET_GDR_LEVEL and NCCL_P2P_LEVEL: names, or the old numbers 0 to 4.
std::optional<Remark> level(std::string_view value, bool gdr) {
  constexpr std::array<std::string_view, 5> kOld = {"LOC", "PIX", "PXB", "PHB", "SYS"};
  if (std::ranges::find(kLevels, value) != kLevels.end()) {
    if (gdr && value == "SYS")
      return Remark{
          "GPUDirect RDMA even between sockets, where it is often slower than through host memory",
          "unset it (NCCL's default is PXB), and measure"};
    return std::nullopt;
  }
  if (!isPlainDecimal(value))
    return Remark{"NCCL knows no such level and takes its default",
                  "write one of LOC, NVL, PIX, PXB, PHB, SYS"};
  const int64_t number = integerAsRead(std::string(value));
  const std::string_view means =
      number < 0 || number >= 4 ? kOld[4] : kOld[static_cast<size_t>(number)];
  return Remark{
      "an old number that means " + std::string(means) +
          (gdr && means == "SYS" ? ": GPUDirect RDMA even between sockets, often slower" : ""),
      "write the name: " + std::string(gdr && means == "SYS" ? "PXB, NCCL's default" : means)};
}

std::optional<Remark> gdrLevel(std::string_view v) {
  return level(v, true);
}
std::optional<Remark> p2pLevel(std::string_view v) {
  return level(v, false);
}
std::optional<Remark> p2pDisable(std::string_view v) {
  if (!isOn(v)) return std::nullopt;
  return Remark{
      "GPUs of a host talk through host memory: a work-round for broken peer access, at a "
      "fraction of NVLink's or PCIe's bandwidth",
      "find the cause (ACS, IOMMU: autoccl topo lint) and unset it"};
}
std::optional<Remark> shmDisable(std::string_view v) {
  if (!isOn(v)) return std::nullopt;
  return Remark{"ranks without peer access talk over the network, inside a host too",
                "make /dev/shm large enough and unset it"};
}
std::optional<Remark> graphFile(std::string_view v) {
  if (v.empty()) return std::nullopt;
  return Remark{"a job on another number of GPUs than the graph's does not start",
                "unset it where jobs differ in size"};
}
std::optional<Remark> qps(std::string_view v) {
  if (integerAsRead(std::string(v)) <= 8) return std::nullopt;
  return Remark{"queue pairs beyond a few cost memory of the NIC and seldom add bandwidth",
                "take 1 to 4, and measure"};
}
std::optional<Remark> splitData(std::string_view v) {
  if (!isOn(v)) return std::nullopt;
  return Remark{"every message is cut over all queue pairs: small ones get slower",
                "unset it unless a measurement of your sizes says otherwise"};
}
std::optional<Remark> socketNames(std::string_view v) {
  if (v == "lo")
    return Remark{"other hosts cannot be reached", "name the interface of the network"};
  if (v.find('|') != v.npos || v.find(' ') != v.npos)
    return Remark{"names are separated by commas",
                  "write for example eth0,eth1; =eth0 is exact, ^docker excludes"};
  return std::nullopt;
}

struct ValueRule {
  std::string_view name;
  std::optional<Remark> (*look)(std::string_view value);
};
constexpr std::array<ValueRule, 9> kValues = {{{"NCCL_NET_GDR_LEVEL", gdrLevel},
                                               {"NCCL_P2P_LEVEL", p2pLevel},
                                               {"NCCL_P2P_DISABLE", p2pDisable},
                                               {"NCCL_SHM_DISABLE", shmDisable},
                                               {"NCCL_GRAPH_FILE", graphFile},
                                               {"NCCL_IB_QPS_PER_CONNECTION", qps},
                                               {"NCCL_IB_SPLIT_DATA_ON_QPS", splitData},
                                               {"NCCL_SOCKET_IFNAME", socketNames},
                                               {"NCCL_IB_HCA", socketNames}}};

}  // namespace

std::vector<Finding> lintValues(const Sources& sources) {
  std::vector<Finding> out;
  const Setting* most = sources.inForce("NCCL_MAX_NCHANNELS");
  if (most != nullptr && sources.inForce("NCCL_MAX_P2P_NCHANNELS") == nullptr)
    out.push_back(
        {most->where, most->name + "=" + most->value,
         "limits collectives; send/recv and all-to-all made of them go on with their own number",
         "for those set NCCL_MAX_P2P_NCHANNELS, or NCCL_NCHANNELS_PER_NET_PEER", "nccl-value"});
  for (const ValueRule& rule : kValues) {
    const Setting* s = sources.inForce(rule.name);
    if (s == nullptr) continue;
    if (const auto remark = rule.look(s->value))
      out.push_back(
          {s->where, s->name + "=" + s->value, remark->consequence, remark->fix, "nccl-value"});
  }
  return out;
}

}  // namespace autoccl::nccl
