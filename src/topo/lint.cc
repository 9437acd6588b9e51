#include "topo/lint.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "topo/nccl_scan.h"
#include "topo/paths.h"

namespace autoccl::topo {
namespace {

constexpr int kMostLocalRanks = 8;

/// Sockets whose description NCCL completes only where the job has a GPU on them.
void sockets(const LintInput& in, std::vector<Finding>& out) {
  for (size_t i = 0; i < in.host.numa.size(); ++i) {
    const NumaNode& n = in.host.numa[i];
    const bool used = std::ranges::any_of(in.gpus, [&](int g) {
      return in.host.gpus[static_cast<size_t>(g)].numa == static_cast<int>(i);
    });
    const bool model = n.vendor != "GenuineIntel" || (n.family >= 0 && n.model >= 0);
    const bool complete = !n.arch.empty() && (n.arch != "x86_64" || (!n.vendor.empty() && model));
    if (in.host.xmlVersion > 0 && !complete)
      out.push_back(
          {in.at(n.line),
           "NUMA node " + std::to_string(n.id) + " has no " +
               (n.arch.empty()     ? "arch"
                : n.vendor.empty() ? "vendor"
                                   : "familyid or modelid"),
           used ? "NCCL fills it in from the machine it runs on"
                : "\"Attribute arch of node cpu not found\": NCCL fills it in only where the job "
                  "has "
                  "a GPU on the socket; a job without one there does not start",
           "write arch, vendor, familyid and modelid of the machine: autoccl topo export --cpu",
           ""});
    if (n.id < 0)
      out.push_back({in.at(n.line), "a NUMA node without number",
                     "the kernel does not know where these devices are: NCCL takes one socket, and "
                     "binds to none",
                     "turn NUMA on in the firmware or the virtual machine, or number it by hand",
                     ""});
    if (in.host.xmlVersion > 0 && n.id >= 0 && n.cpus.empty())
      out.push_back({in.at(n.line), "NUMA node " + std::to_string(n.id) + " has no affinity",
                     "NCCL's threads are bound to none of its CPUs", "write the mask of its CPUs",
                     ""});
  }
}

void overlapping(const LintInput& in, std::vector<Finding>& out) {
  for (size_t i = 0; i < in.host.numa.size(); ++i)
    for (size_t j = i + 1; j < in.host.numa.size(); ++j) {
      const CpuSet both = in.host.numa[i].cpus.both(in.host.numa[j].cpus);
      if (!both.empty())
        out.push_back({in.at(in.host.numa[j].line),
                       "CPUs " + both.list() + " are in two NUMA nodes",
                       "threads are bound to the wrong socket", "correct the affinity masks", ""});
    }
}

void missingFacts(const LintInput& in, std::vector<Finding>& out) {
  if (in.host.xmlVersion == 0) return;
  for (const PciDevice& d : in.host.pci)
    if (d.deviceClass.empty())
      out.push_back({in.at(d.line), "device " + d.busId + " has no class",
                     "what it is is not known here; NCCL knows it only where it is a GPU or NIC of "
                     "the job, and takes it for a switch else",
                     "write class: 0x030200 is a GPU, 0x020700 a NIC, 0x060400 a switch", ""});
  for (const Gpu& g : in.host.gpus)
    if (g.declared && g.rank < 0)
      out.push_back({in.at(g.line), nameOf(in.host, g) + " has no rank",
                     "NCCL passes over it, and ends with an error if it has links",
                     "write the rank, or leave <gpu> out", ""});
}

template <class Key>
void twice(const LintInput& in, const std::vector<std::pair<Key, int>>& all, const char* what,
           const char* consequence, std::vector<Finding>& out) {
  std::map<Key, int> seen;
  for (const auto& [key, line] : all) {
    const auto [first, fresh] = seen.emplace(key, line);
    if (fresh) continue;
    std::string name;
    if constexpr (std::is_same_v<Key, std::string>)
      name = key;
    else
      name = std::to_string(key);
    out.push_back(
        {in.at(line),
         std::string(what) + " " + name + " stands twice, first at " + in.at(first->second),
         consequence, "keep one", ""});
  }
}

void repeated(const LintInput& in, std::vector<Finding>& out) {
  std::vector<std::pair<std::string, int>> busIds;
  std::vector<std::pair<int, int>> ranks, numas;
  busIds.reserve(in.host.pci.size());
  for (const PciDevice& d : in.host.pci) busIds.emplace_back(d.busId, d.line);
  for (const Gpu& g : in.host.gpus)
    if (g.rank >= 0) ranks.emplace_back(g.rank, g.line);
  for (const NumaNode& n : in.host.numa)
    if (in.host.xmlVersion > 0) numas.emplace_back(n.id, n.line);
  twice(in, busIds, "bus id", "NCCL finds the first and loses the second", out);
  twice(in, ranks, "rank", "two GPUs of one rank: the search goes wrong", out);
  twice(in, numas, "NUMA node", "devices hang on two sockets that are one", out);
}

/// NCCL's reader has room for 256 elements of a file; each rank adds what it finds and the files of
/// one host are merged.
void elementCap(const LintInput& in, std::vector<Finding>& out) {
  const int now = in.host.elements;
  if (in.host.xmlVersion == 0 || now == 0) return;
  int added = 0;  // what NCCL adds to a skeleton: an element or two for each device
  for (const Gpu& g : in.host.gpus) added += g.declared ? 0 : 1 + 1;
  for (const Nic& n : in.host.nics) added += n.declared ? 0 : 2;
  const int ranks = std::min<int>(kMostLocalRanks, static_cast<int>(in.gpus.size()));
  if (now <= kNcclMostElements - added && now + added <= 200) return;
  const bool over = now > kNcclMostElements;
  out.push_back({in.at(0),
                 std::to_string(now) + " elements, " + std::to_string(now + added) +
                     " with what NCCL adds for " + std::to_string(ranks) + " ranks",
                 over
                     ? "\"XML parser is limited to 256 nodes\": NCCL does not read the file"
                     : "NCCL has room for 256: with a few more devices it ends with \"too many XML "
                       "nodes\"",
                 "leave out devices that are neither GPU nor NIC of the job", ""});
}

constexpr std::array<LintRule, 14> kRules = {{{"topo-socket", sockets},
                                              {"topo-affinity", overlapping},
                                              {"topo-missing", missingFacts},
                                              {"topo-twice", repeated},
                                              {"topo-element-cap", elementCap},
                                              {"topo-link-speed", lintLinkSpeeds},
                                              {"topo-slow-switch", lintSlowSwitches},
                                              {"topo-gpu-links", lintGpuLinks},
                                              {"topo-acs", lintRedirects},
                                              {"topo-shared-uplink", lintSharedUplinks},
                                              {"topo-nic-order", lintNicOrder},
                                              {"topo-few-nics", lintNicsPerGpu},
                                              {"topo-nic", lintNicFacts},
                                              {"topo-subnet", lintSubnets}}};

/// Place of each NIC among the host's in the order of bus ids.
std::vector<int> railsOf(const Host& host) {
  std::vector<int> order(host.nics.size()), rails(host.nics.size());
  std::iota(order.begin(), order.end(), 0);
  const auto busId = [&](int nic) {
    const int pci = host.nics[static_cast<size_t>(nic)].pci;
    return pci < 0 ? std::string() : host.pci[static_cast<size_t>(pci)].busId;
  };
  std::ranges::stable_sort(order, {}, busId);
  for (size_t i = 0; i < order.size(); ++i)
    rails[static_cast<size_t>(order[i])] = static_cast<int>(i);
  for (size_t i = 0; i < rails.size(); ++i)
    if (host.nics[i].rail >= 0) rails[i] = host.nics[i].rail;
  return rails;
}

int railOfGpu(const Host& host, int gpu) {
  const std::vector<int> near = nicsByDistance(host, gpu);
  return near.empty() ? -1 : railsOf(host)[static_cast<size_t>(near.front())];
}

}  // namespace

std::string LintInput::at(int line) const {
  return line > 0 ? file + ":" + std::to_string(line) : file;
}

std::span<const LintRule> lintRules() {
  return kRules;
}

std::vector<Finding> lintHost(const Host& host, const std::string& file, std::vector<int> gpus) {
  if (gpus.empty()) {
    gpus.resize(host.gpus.size());
    std::iota(gpus.begin(), gpus.end(), 0);
  }
  const LintInput input{host, file, std::move(gpus)};
  std::vector<Finding> findings;
  for (const LintRule& rule : kRules) {
    const size_t before = findings.size();
    rule.look(input, findings);
    for (size_t i = before; i < findings.size(); ++i) findings[i].rule = rule.name;
  }
  return findings;
}

std::vector<Finding> lintRails(const std::vector<std::pair<std::string, const Host*>>& hosts) {
  std::vector<Finding> findings;
  if (hosts.size() < 2) return findings;
  const auto& [firstFile, first] = hosts.front();
  for (size_t h = 1; h < hosts.size(); ++h) {
    const auto& [file, host] = hosts[h];
    const size_t gpus = std::min(first->gpus.size(), host->gpus.size());
    for (size_t g = 0; g < gpus; ++g) {
      const int here = railOfGpu(*host, static_cast<int>(g));
      const int there = railOfGpu(*first, static_cast<int>(g));
      if (here < 0 || there < 0 || here == there) continue;
      findings.push_back(
          {file,
           "GPU " + std::to_string(g) + " is on rail " + std::to_string(here) + ", in " +
               firstFile + " on rail " + std::to_string(there),
           "its traffic to the same GPU there crosses from rail to rail, over the "
           "spine",
           "list the NICs of both hosts in one order in NCCL_IB_HCA, or write rail into "
           "the topology files",
           "topo-rail"});
    }
  }
  return findings;
}

}  // namespace autoccl::topo
