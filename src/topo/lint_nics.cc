// Rules about NICs and how they lie to the GPUs.
#include <algorithm>
#include <map>

#include "topo/bandwidth.h"
#include "topo/lint.h"
#include "topo/paths.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

const Nic& nicAt(const Host& host, int nic) {
  return host.nics[static_cast<size_t>(nic)];
}

/// GB/s of the NICs below each device that is no NIC itself.
std::map<int, std::vector<int>> nicsBelow(const Host& host) {
  std::map<int, std::vector<int>> below;
  for (int i = 0; i < static_cast<int>(host.nics.size()); ++i)
    for (int d = nicAt(host, i).pci; d >= 0; d = host.pci[static_cast<size_t>(d)].parent)
      below[d].push_back(i);
  return below;
}

/// Of the NICs that are nearest to a GPU, all alike, the one that fewest GPUs have taken.
int nearestFree(const Host& host, int gpu, const std::vector<int>& taken) {
  const std::vector<int> order = nicsByDistance(host, gpu);
  const PathClass best = gpuToNic(host, gpu, order.front()).path;
  int chosen = order.front();
  for (const int nic : order)
    if (gpuToNic(host, gpu, nic).path == best &&
        std::ranges::count(taken, nic) < std::ranges::count(taken, chosen))
      chosen = nic;
  return chosen;
}

/// The network part of "10.0.1.7/24"; empty where it is none.
std::string subnetOf(const std::string& address) {
  const size_t slash = address.find('/');
  if (slash == address.npos) return "";
  const int64_t prefix = wholeNumber(std::string_view(address).substr(slash + 1)).value_or(0);
  const auto parts = split(std::string_view(address).substr(0, slash), '.');
  if (prefix < 1 || prefix > 32 || parts.size() != 4) return "";
  uint32_t bits = 0;
  for (const std::string_view part : parts) {
    const auto byte = wholeNumber(part);
    if (!byte || *byte < 0 || *byte > 255) return "";
    bits = bits << 8 | static_cast<uint32_t>(*byte);
  }
  bits &= ~uint32_t{0} << (32 - prefix);
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8)
    text += (text.empty() ? "" : ".") + std::to_string(bits >> shift & 255);
  return text + "/" + std::to_string(prefix);
}

}  // namespace

void lintSharedUplinks(const LintInput& in, std::vector<Finding>& out) {
  for (const auto& [device, nics] : nicsBelow(in.host)) {
    const PciDevice& d = in.host.pci[static_cast<size_t>(device)];
    const auto speed = gigatransfers(d.linkSpeed);
    if (nics.size() < 2 || !speed) continue;
    double wanted = 0;
    std::string names;
    for (const int nic : nics) {
      wanted += nicAt(in.host, nic).mbps > 0 ? nicGBps(nicAt(in.host, nic).mbps) : 0;
      names += (names.empty() ? "" : ", ") + nameOf(in.host, nicAt(in.host, nic));
    }
    const double has = pciGBps(*speed, d.linkWidth);
    if (wanted <= has * 1.001) continue;
    out.push_back({in.at(d.line),
                   names + " share the link of " + d.busId + ": " + bandwidthText(has) + " for " +
                       bandwidthText(wanted),
                   "NCCL makes one channel of them where you expect " + std::to_string(nics.size()),
                   "put the cards into slots of their own, or name one of them in NCCL_IB_HCA",
                   ""});
  }
}

/// Nearest NICs that run against the order of the GPUs, and two GPUs of the job with one NIC while
/// another is as near to none.
void lintNicOrder(const LintInput& in, std::vector<Finding>& out) {
  if (in.host.nics.size() < 2 || in.gpus.size() < 2) return;
  std::vector<int> nearest;
  for (const int g : in.gpus) {
    const int nic = nearestFree(in.host, g, nearest);
    if (gpuToNic(in.host, g, nic).path >= PathClass::kPhb) return;
    nearest.push_back(nic);
  }
  const bool falling =
      std::ranges::is_sorted(nearest, std::greater<>()) && nearest.front() != nearest.back();
  if (falling)
    out.push_back(
        {in.at(0), "the NICs are in the opposite order of the GPUs",
         "a job on a part of the GPUs takes other NICs than the same GPUs of a whole job, "
         "and rails differ from host to host",
         "name the NICs in the order of the GPUs in NCCL_IB_HCA", ""});
  std::map<int, std::vector<int>> users;
  for (size_t i = 0; i < nearest.size(); ++i) users[nearest[i]].push_back(in.gpus[i]);
  if (users.size() == nearest.size() || in.gpus.size() > in.host.nics.size()) return;
  for (const auto& [nic, gpus] : users) {
    if (gpus.size() < 2) continue;
    std::string names;
    for (const int g : gpus)
      names +=
          (names.empty() ? "" : " and ") + nameOf(in.host, in.host.gpus[static_cast<size_t>(g)]);
    out.push_back({in.at(nicAt(in.host, nic).line),
                   names + " have the same nearest NIC, " + nameOf(in.host, nicAt(in.host, nic)),
                   "in a group of these GPUs they share it while other NICs are idle",
                   "choose GPUs of different switches for the group, or let them use PXN", ""});
  }
}

void lintNicsPerGpu(const LintInput& in, std::vector<Finding>& out) {
  const size_t gpus = in.gpus.size(), nics = in.host.nics.size();
  if (gpus < 4 || nics == 0 || nics * 4 > gpus) return;
  out.push_back(
      {in.at(0),
       std::to_string(nics) + (nics == 1 ? " NIC for " : " NICs for ") + std::to_string(gpus) +
           " GPUs",
       "between hosts all GPUs share it: their bandwidth is that of a NIC over the number "
       "of GPUs",
       "reduce inside the host first (tree, or hierarchical); send large messages only", ""});
}

void lintNicFacts(const LintInput& in, std::vector<Finding>& out) {
  std::map<std::string, int> guids;
  for (int i = 0; i < static_cast<int>(in.host.nics.size()); ++i) {
    const Nic& n = nicAt(in.host, i);
    const std::string name = nameOf(in.host, n);
    if (n.declared && n.mbps <= 0)
      out.push_back({in.at(n.line), name + " has no speed", "NCCL takes 10 Gbit/s",
                     "write speed in Mbit/s", ""});
    const std::string state = lower(n.state);
    if (!n.state.empty() && state != "active" && state != "up" && state != "unknown")
      out.push_back({in.at(n.line), name + " is " + n.state,
                     "NCCL does not use it, or waits for it",
                     "bring the port up, or leave it out of NCCL_IB_HCA", ""});
    const double slot = nicWidth(in.host, i), own = n.mbps > 0 ? nicGBps(n.mbps) : 0;
    if (own > 0 && slot < own * 0.95)
      out.push_back({in.at(n.line),
                     name + " carries " + bandwidthText(own) + ", its slot " + bandwidthText(slot),
                     "the slot bounds it", "move the card to a wider slot", ""});
    if (n.guid.empty() || wholeNumber(n.guid) == 0) continue;
    const auto [first, fresh] = guids.emplace(n.guid, i);
    if (!fresh && in.host.nics[static_cast<size_t>(first->second)].port == n.port)
      out.push_back({in.at(n.line),
                     name + " has the guid of " + nameOf(in.host, nicAt(in.host, first->second)),
                     "NCCL takes them for two ports of one card, with one card's bandwidth",
                     "give each its own guid", ""});
  }
}

/// Two NICs on one subnet: answers may leave by the other one, and both may hang on one leaf.
void lintSubnets(const LintInput& in, std::vector<Finding>& out) {
  std::map<std::string, int> seen;
  for (int i = 0; i < static_cast<int>(in.host.nics.size()); ++i) {
    const std::string subnet = subnetOf(nicAt(in.host, i).address);
    if (subnet.empty()) continue;
    const auto [first, fresh] = seen.emplace(subnet, i);
    if (fresh) continue;
    out.push_back({in.at(nicAt(in.host, i).line),
                   nameOf(in.host, nicAt(in.host, first->second)) + " and " +
                       nameOf(in.host, nicAt(in.host, i)) + " are on one subnet, " + subnet,
                   "they may hang on one leaf, and what arrives by one is answered by the other",
                   "give each rail a subnet of its own, or set arp_ignore=1 and rules by source",
                   ""});
  }
}

}  // namespace autoccl::topo
