#include "topo/plan_cost.h"

#include <algorithm>
#include <map>

#include "topo/bandwidth.h"
#include "topo/paths.h"

namespace autoccl::topo {
namespace {

constexpr double kNvlinkAlphaUs = 1, kPciAlphaUs = 3;  // where the fabric gives none

double slotGBps(const Host& host, int pci) {
  if (pci < 0) return 0;
  const PciDevice& d = host.pci[static_cast<size_t>(pci)];
  const auto speed = gigatransfers(d.linkSpeed);
  return speed ? pciGBps(*speed, d.linkWidth) : d.currentGBps;
}

/// Adds up the load of every link, each with a name of its own.
class Loads {
 public:
  Loads(const Job& job, double perHop) : job_(job), perHop_(perHop) {}

  /// `times`: how many such links there are in the job, all alike (one for each host).
  void load(LinkLevel level, const std::string& link, double GBps, int times = 1) {
    LevelCost& cost = cost_.levels[static_cast<size_t>(level)];
    cost.hops += times;
    cost.bytes += perHop_ * times;
    double& bytes = links_[{level, link}];
    bytes += perHop_;
    // The busiest is that whose bytes take longest; links of one level are seldom all alike.
    const double now = GBps > 0 ? bytes / GBps : bytes;
    const double most = cost.GBps > 0 ? cost.busiestBytes / cost.GBps : cost.busiestBytes;
    if (now <= most) return;
    cost.busiestBytes = bytes;
    cost.busiest = link;
    cost.GBps = GBps;
  }

  void inside(const Path& path, int from, int to) {
    const Host& host = job_.host;
    const Gpu &a = host.gpus[static_cast<size_t>(from)], &b = host.gpus[static_cast<size_t>(to)];
    if (path.path == PathClass::kNvlink || path.path == PathClass::kNvlinkHop) {
      const bool toSwitch = std::ranges::any_of(
          a.links, [](const GpuLink& l) { return kindOf(l.targetClass) == DeviceKind::kNvSwitch; });
      const std::string name = nameOf(host, a) + (toSwitch ? " out" : " to " + nameOf(host, b));
      const double width = path.GBps > 0 ? path.GBps : job_.fabric.gpu.GBps;
      return load(LinkLevel::kGpuLink, name, width, job_.hosts());
    }
    overPci(path.path, a.pci, a.numa, nameOf(host, a), b.pci, nameOf(host, b));
  }

  void toNic(int gpu, int nic, bool out) {
    const Host& host = job_.host;
    const Gpu& g = host.gpus[static_cast<size_t>(gpu)];
    const Nic& n = host.nics[static_cast<size_t>(nic)];
    const PathClass path = gpuToNic(host, gpu, nic).path;
    if (out)
      overPci(path, g.pci, g.numa, nameOf(host, g), n.pci, nameOf(host, n));
    else
      overPci(path, n.pci, n.numa, nameOf(host, n), g.pci, nameOf(host, g));
  }

  PlanCost take() { return std::move(cost_); }
  PlanCost& cost() { return cost_; }

 private:
  void overPci(PathClass path, int from, int fromNuma, const std::string& fromName, int to,
               const std::string& toName) {
    const int hosts = job_.hosts();
    load(LinkLevel::kPci, fromName + " up", slotGBps(job_.host, from), hosts);
    load(LinkLevel::kPci, toName + " down", slotGBps(job_.host, to), hosts);
    if (path == PathClass::kPhb || path == PathClass::kNode || path == PathClass::kSys)
      load(LinkLevel::kHostBridge, "bridge of NUMA node " + std::to_string(fromNuma), 0, hosts);
    if (path != PathClass::kSys) return;
    const double width = job_.fabric.socket.GBps > 0 ? job_.fabric.socket.GBps
                         : fromNuma >= 0 ? socketGBps(job_.host.numa[static_cast<size_t>(fromNuma)])
                                         : 0;
    load(LinkLevel::kSocket, "socket " + std::to_string(fromNuma) + " out", width, hosts);
  }

  const Job& job_;
  double perHop_;
  PlanCost cost_;
  std::map<std::pair<LinkLevel, std::string>, double> links_;
};

/// Leaf of each NIC of each host.
std::vector<int> leafTable(const Fabric& fabric) {
  const auto rails = static_cast<size_t>(fabric.nicsPerHost);
  std::vector<int> table(static_cast<size_t>(fabric.hosts) * rails, -1);
  for (size_t i = 0; i < fabric.leaves.size(); ++i)
    for (const int host : fabric.leaves[i].hosts)
      for (const int rail : fabric.leaves[i].rails)
        table[static_cast<size_t>(host) * rails + static_cast<size_t>(rail)] = static_cast<int>(i);
  return table;
}

void between(const Job& job, const RingChannel& ring, const std::vector<int>& leaves,
             Loads& loads) {
  const Host& host = job.host;
  const auto rails = static_cast<size_t>(job.fabric.nicsPerHost);
  const std::string out = nameOf(host, host.nics[static_cast<size_t>(ring.nicOut)]) + " out";
  const std::string in = nameOf(host, host.nics[static_cast<size_t>(ring.nicIn)]) + " in";
  const double outWidth =
      nicWidth(host, ring.nicOut) > 0 ? nicWidth(host, ring.nicOut) : job.fabric.nic.GBps;
  const double inWidth =
      nicWidth(host, ring.nicIn) > 0 ? nicWidth(host, ring.nicIn) : job.fabric.nic.GBps;
  loads.load(LinkLevel::kNic, out, outWidth, job.hosts());
  loads.load(LinkLevel::kNic, in, inWidth, job.hosts());
  const bool crossRail = ring.nicIn != ring.nicOut;
  for (size_t i = 0; i < ring.hosts.size(); ++i) {
    const auto from = static_cast<size_t>(ring.hosts[i]);
    const auto to = static_cast<size_t>(ring.hosts[(i + 1) % ring.hosts.size()]);
    const int a = leaves[from * rails + static_cast<size_t>(ring.nicOut)];
    const int b = leaves[to * rails + static_cast<size_t>(ring.nicIn)];
    loads.cost().crossRailPairs += crossRail ? 1 : 0;
    if (a == b) continue;
    ++loads.cost().leafCrossings;
    const Leaf &up = job.fabric.leaves[static_cast<size_t>(a)],
               &down = job.fabric.leaves[static_cast<size_t>(b)];
    loads.load(LinkLevel::kSpine, up.name + " up", up.uplinks * job.fabric.spine.GBps);
    loads.load(LinkLevel::kSpine, down.name + " down", down.uplinks * job.fabric.spine.GBps);
  }
}

void oneRing(const Job& job, const RingChannel& ring, const std::vector<int>& leaves,
             Loads& loads) {
  const auto hop = [&](int from, int to) { loads.inside(gpuToGpu(job.host, from, to), from, to); };
  for (size_t i = 0; i + 1 < ring.gpus.size(); ++i) hop(ring.gpus[i], ring.gpus[i + 1]);
  const int first = ring.gpus.front(), last = ring.gpus.back();
  if (job.hosts() == 1) {
    if (first != last) hop(last, first);
    return;
  }
  if (ring.overPeer) hop(last, first);
  loads.toNic(ring.overPeer ? first : last, ring.nicOut, true);
  loads.toNic(first, ring.nicIn, false);
  between(job, ring, leaves, loads);
}

double ringShare(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

}  // namespace

const char* toText(LinkLevel level) noexcept {
  constexpr std::array<const char*, kLinkLevels> kNames = {"NVLink or xGMI", "PCIe", "host bridge",
                                                           "socket",         "NIC",  "spine"};
  return kNames[static_cast<size_t>(level)];
}

double PlanCost::slowestSeconds() const {
  double most = 0;
  for (const LevelCost& level : levels) most = std::max(most, level.seconds());
  return most;
}

PlanCost ringCost(const Job& job, const std::vector<RingChannel>& rings, double bytes) {
  Loads loads(job, ringShare(job.ranks()) * bytes / static_cast<double>(rings.size()));
  const std::vector<int> leaves = leafTable(job.fabric);
  std::vector<char> used(job.host.nics.size());
  for (const RingChannel& ring : rings) {
    oneRing(job, ring, leaves, loads);
    for (const int nic : {ring.nicIn, ring.nicOut})
      if (nic >= 0) used[static_cast<size_t>(nic)] = 1;
  }
  PlanCost cost = loads.take();
  cost.nics = static_cast<int>(used.size());
  cost.nicsUsed = static_cast<int>(std::ranges::count(used, 1));
  return cost;
}

double ringLowerBound(const Job& job, double bytes) {
  const size_t nics = std::max<size_t>(1, job.host.nics.size());
  return ringShare(job.ranks()) * bytes / static_cast<double>(nics);
}

LinkClass insideLink(const Job& job) {
  if (job.fabric.gpu.GBps > 0) return job.fabric.gpu;
  LinkClass link;
  for (int g = 0; g < static_cast<int>(job.host.gpus.size()); ++g) {
    const Fan fan = linksOf(job.host, g);
    const double width =
        fan.GBps > 0 ? fan.GBps : slotGBps(job.host, job.host.gpus[static_cast<size_t>(g)].pci);
    link.alphaUs = fan.GBps > 0 ? kNvlinkAlphaUs : kPciAlphaUs;
    link.GBps = link.GBps > 0 ? std::min(link.GBps, width) : width;
  }
  return link;
}

TwoWays allReduceSeconds(const Job& job, double bytes) {
  const LinkClass inside = insideLink(job), nic = job.fabric.nic;
  const double g = static_cast<double>(job.host.gpus.size()), k = job.hosts(), n = g * k;
  const double rails = std::max<double>(1, static_cast<double>(job.host.nics.size()));
  if (inside.GBps <= 0 || (k > 1 && nic.GBps <= 0)) return {};
  const double ai = inside.alphaUs * 1e-6, bi = 1e-9 / inside.GBps;
  const double ax = nic.alphaUs * 1e-6, bx = k > 1 ? 1e-9 / nic.GBps : 0;
  TwoWays ways;
  // A flat ring: in each step the slowest link decides; a host's NICs share the bytes.
  const double step = k > 1 ? ((g - 1) * ai + ax) / g : ai;
  const double perByte = std::max(bi, k > 1 ? bx / rails : 0);
  ways.flat = 2 * (n - 1) * step + ringShare(static_cast<int>(n)) * bytes * perByte;
  const double across =
      k > 1 ? 2 * (k - 1) * ax + 2 * (k - 1) / k * (bytes / g) * bx * std::max(1.0, g / rails) : 0;
  ways.twoDimensional = 2 * (g - 1) * ai + 2 * (g - 1) / g * bytes * bi + across;
  return ways;
}

}  // namespace autoccl::topo
