#include "topo/placement.h"

#include <algorithm>
#include <array>
#include <set>

#include "topo/words.h"

namespace autoccl::topo {
namespace {

constexpr uint64_t kShmSegment = 9637888;  // of one connection, as NCCL 2.x asks for it
constexpr uint64_t kLeastMemlock = uint64_t{64} << 20;

using Findings = std::vector<Finding>;

bool isOn(const std::string& value) {
  return !value.empty() && numberAsC(value) != 0;
}

bool isEfa(const Host& host, const Nic& nic) {
  if (nic.pci < 0) return false;
  const PciDevice& d = host.pci[static_cast<size_t>(nic.pci)];
  return d.vendor == "0x1d0f" && d.device.starts_with("0xefa");
}
bool hasEfa(const Host& host) {
  return std::ranges::any_of(host.nics, [&](const Nic& n) { return isEfa(host, n); });
}
std::string rdmaNames(const Host& host) {
  std::string names;
  for (const Nic& n : host.nics)
    if (n.rdma || isEfa(host, n)) names += (names.empty() ? "" : ", ") + nameOf(host, n);
  return names;
}

/// The GPU that the process uses, by its local rank and the visible devices; -1: unknown.
int ownGpu(const Placement& p) {
  std::string rank;
  for (const char* name :
       {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"})
    if (rank.empty()) rank = p.variable(name);
  auto local = wholeNumber(trimmed(rank)).value_or(-1);
  const std::string visible = p.variable("CUDA_VISIBLE_DEVICES");
  const auto list = split(visible, ',');
  if (list.size() == 1) local = wholeNumber(trimmed(list[0])).value_or(-1);
  if (list.size() > 1)
    local = local >= 0 && local < static_cast<int64_t>(list.size())
                ? wholeNumber(trimmed(list[static_cast<size_t>(local)])).value_or(-1)
                : -1;
  for (size_t i = 0; i < p.host.gpus.size(); ++i)
    if (p.host.gpus[i].index == local) return static_cast<int>(i);
  return local >= 0 && local < static_cast<int64_t>(p.host.gpus.size()) ? static_cast<int>(local)
                                                                        : -1;
}

void binding(const Placement& p, Findings& out) {
  const int gpu = ownGpu(p);
  if (gpu < 0 || p.host.gpus[static_cast<size_t>(gpu)].numa < 0) return;
  const NumaNode& node =
      p.host.numa[static_cast<size_t>(p.host.gpus[static_cast<size_t>(gpu)].numa)];
  const std::string name = nameOf(p.host, p.host.gpus[static_cast<size_t>(gpu)]);
  const std::string id = std::to_string(node.id);
  if (!p.cpus.empty() && !node.cpus.empty() && p.cpus.both(node.cpus).empty())
    out.push_back(
        {p.where,
         "runs on CPUs " + p.cpus.list() + ", its " + name + " is at NUMA node " + id + " (CPUs " +
             node.cpus.list() + ")",
         "every copy, launch and network call crosses the socket",
         "bind it: autoccl topo plan --script makes the script, or numactl -N " + id + " -m " + id,
         "placement-cpus"});
  if (!p.memoryNodes.empty() && node.id >= 0 && !p.memoryNodes.has(static_cast<size_t>(node.id)))
    out.push_back({p.where,
                   "has memory of NUMA node " + p.memoryNodes.list() + " alone, its " + name +
                       " is at node " + id,
                   "host buffers cross the socket", "bind memory too: numactl -m " + id,
                   "placement-memory"});
}

void rdmaOff(const Placement& p, Findings& out) {
  const std::string names = rdmaNames(p.host), value = p.variable("NCCL_IB_DISABLE");
  if (names.empty() || !isOn(value)) return;
  const bool efa = hasEfa(p.host);
  out.push_back({p.where, "NCCL_IB_DISABLE=" + value + " on a host with " + names,
                 efa ? "EFA comes by the OFI plugin, not by this switch: without the plugin "
                       "traffic goes over "
                       "TCP, with it the switch does nothing"
                     : "traffic between hosts goes over TCP, at a tenth of the bandwidth or less",
                 efa ? "unset it and load the OFI plugin (libnccl-net-ofi)" : "unset it",
                 "placement-rdma-off"});
}

void efaProtocol(const Placement& p, Findings& out) {
  const std::string proto = lower(p.variable("NCCL_PROTO"));
  if (!hasEfa(p.host) || proto.empty() || proto.starts_with('^') || proto.find("ll") == proto.npos)
    return;
  out.push_back(
      {p.where, "NCCL_PROTO=" + p.variable("NCCL_PROTO") + " on a host with EFA",
       "EFA delivers out of order: LL and LL128 corrupt data where plugin and release do not rule "
       "them out",
       "unset it; the OFI plugin allows what its version bears", "placement-efa-protocol"});
}

std::string interfaces(const Host& host) {
  std::string names;
  for (const Nic& n : host.nics)
    if (!n.interfaceName.empty()) names += (names.empty() ? "" : ", ") + n.interfaceName;
  return names;
}

void patterns(const Placement& p, Findings& out) {
  const std::string sockets = p.variable("NCCL_SOCKET_IFNAME"), hca = p.variable("NCCL_IB_HCA");
  const auto none = [&](const std::string& pattern, auto nameOfNic) {
    return std::ranges::none_of(p.host.nics, [&](const Nic& n) {
      return !nameOfNic(n).empty() && matchesPattern(nameOfNic(n), pattern);
    });
  };
  const std::string names = interfaces(p.host), rdma = rdmaNames(p.host);
  if (!sockets.empty() && !names.empty() &&
      none(sockets, [](const Nic& n) { return n.interfaceName; }))
    out.push_back({p.where, "NCCL_SOCKET_IFNAME=" + sockets + " fits none of " + names,
                   "NCCL ends with \"no socket interface found\"",
                   "write a prefix of one of them, or =name", "placement-interface"});
  if (!hca.empty() && !rdma.empty() &&
      none(hca, [](const Nic& n) { return n.rdma ? n.name : std::string(); }))
    out.push_back({p.where, "NCCL_IB_HCA=" + hca + " fits none of " + rdma,
                   "NCCL finds no RDMA device and takes sockets",
                   "write a prefix of one of them, or =name", "placement-interface"});
}

void connections(const Placement& p, Findings& out) {
  if (p.variable("CUDA_DEVICE_MAX_CONNECTIONS") != "1") return;
  out.push_back({p.where, "CUDA_DEVICE_MAX_CONNECTIONS=1",
                 "kernels of all streams pass one queue: tensor parallelism wants that order, but "
                 "collectives of "
                 "data parallelism (DDP, FSDP) no longer overlap with compute",
                 "unset it where data-parallel collectives should overlap, or use the framework's "
                 "own overlap for "
                 "tensor parallelism",
                 "placement-connections"});
}

void sharedMemory(const Placement& p, Findings& out) {
  const size_t gpus = p.host.gpus.size();
  if (p.host.limits.shmBytes == 0 || gpus < 2) return;
  const std::string asked = p.variable("NCCL_MIN_NCHANNELS");
  const uint64_t channels =
      asked.empty() ? 2 : static_cast<uint64_t>(std::clamp<int64_t>(numberAsC(asked), 1, 64));
  const uint64_t need = gpus * channels * kShmSegment;
  if (p.host.limits.shmFreeBytes >= need) return;
  out.push_back(
      {p.where,
       "/dev/shm has " + std::to_string(p.host.limits.shmFreeBytes) + " bytes free; " +
           std::to_string(gpus) + " ranks with " + std::to_string(channels) +
           " channels may need " + std::to_string(need),
       "\"Error while creating shared memory segment\", or a bus error in the middle of the job",
       "start the container with --shm-size=" + std::to_string((need >> 20) + 64) + "m or more",
       "placement-shm"});
}

void limits(const Placement& p, Findings& out) {
  const Limits& l = p.host.limits;
  if (!rdmaNames(p.host).empty() && l.memlockBytes > 0 && l.memlockBytes < kLeastMemlock)
    out.push_back(
        {p.where,
         std::to_string(l.memlockBytes) + " bytes of memory may be locked, and there is RDMA",
         "memory cannot be registered: NCCL fails or takes sockets",
         "ulimit -l unlimited, or docker run --ulimit memlock=-1", "placement-memlock"});
  if (l.cgroupCpus > 0 && l.cgroupCpus < static_cast<double>(p.host.gpus.size()))
    out.push_back({p.where,
                   "the cgroup gives less than a CPU for each of " +
                       std::to_string(p.host.gpus.size()) + " GPUs",
                   "NCCL's proxy threads are stopped in the middle of transfers",
                   "give the container more CPUs", "placement-cgroup"});
}

void launchers(const Placement& p, Findings& out) {
  const std::string world = p.variable("WORLD_SIZE"), tasks = p.variable("SLURM_NTASKS");
  const std::string step = p.variable("SLURM_STEP_NUM_TASKS");
  const std::string& slurm = step.empty() ? tasks : step;
  if (!world.empty() && !slurm.empty() && world != slurm && slurm != "1" &&
      !p.variable("SLURM_PROCID").empty() && p.variable("TORCHELASTIC_RUN_ID").empty())
    out.push_back({p.where, "WORLD_SIZE=" + world + " and Slurm started " + slurm + " tasks",
                   "ranks wait for ranks that never come", "let one launcher count",
                   "placement-launcher"});
  const std::string visible = p.variable("CUDA_VISIBLE_DEVICES");
  std::set<std::string_view> seen;
  for (const std::string_view part : split(visible, ','))
    if (!seen.insert(trimmed(part)).second)
      out.push_back({p.where, "CUDA_VISIBLE_DEVICES=" + visible + " names a GPU twice",
                     "CUDA stops reading there: fewer GPUs are visible", "name each once",
                     "placement-launcher"});
}

struct Rule {
  void (*look)(const Placement& placement, Findings& findings);
};
constexpr std::array<Rule, 8> kRules = {{{binding},
                                         {rdmaOff},
                                         {efaProtocol},
                                         {patterns},
                                         {connections},
                                         {sharedMemory},
                                         {limits},
                                         {launchers}}};

}  // namespace

bool matchesPattern(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return true;
  const bool excludes = pattern.starts_with('^');
  if (excludes) pattern.remove_prefix(1);
  const bool exact = pattern.starts_with('=');
  if (exact) pattern.remove_prefix(1);
  bool listed = false;
  for (const std::string_view part : split(pattern, ',')) {
    const std::string_view word = part.substr(0, part.find(':'));
    listed = listed || (exact ? name == word : name.starts_with(word));
  }
  return listed != excludes;
}

std::vector<Finding> placementFindings(const Placement& placement) {
  Findings findings;
  for (const Rule& rule : kRules) rule.look(placement, findings);
  return findings;
}

}  // namespace autoccl::topo
