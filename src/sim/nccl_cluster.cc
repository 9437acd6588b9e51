#include "sim/nccl_cluster.h"

#include <algorithm>
#include <span>

#include "base/error.h"

namespace autoccl::sim {
namespace {

constexpr int kRing = 1, kTree = 0, kNvls = 4, kNvlsTree = 5, kPat = 6;
constexpr int kMostChannels = 32;  // of the search, before the communicator doubles them

// NCCL's ladders of channel speeds in GB/s, by GPU generation, inside a node and between nodes.
constexpr double kIntra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kIntraHopper[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kIntraBlackwell[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr double kInter[] = {48, 30, 28, 24, 20, 18,  15,  12,   10,  9,
                             7,  6,  5,  4,  3,  2.4, 1.2, 0.24, 0.12};
constexpr double kInterHopper[] = {48, 45, 42, 40, 30,  24,  22,   20,  17.5,
                                   15, 12, 6,  3,  2.4, 1.2, 0.24, 0.12};
constexpr double kInterBlackwell[] = {96, 86,   80, 48, 45.1, 42, 40,  30,  24,   22,
                                      20, 17.5, 15, 12, 6,    3,  2.4, 1.2, 0.24, 0.12};

std::span<const double> ladder(int capability, bool inside) {
  if (capability >= 100) return inside ? std::span<const double>(kIntraBlackwell) : kInterBlackwell;
  if (capability >= 90) return inside ? std::span<const double>(kIntraHopper) : kInterHopper;
  return inside ? std::span<const double>(kIntra) : kInter;
}

struct Found {
  int channels = 0;
  double speed = 0;
  [[nodiscard]] double total() const { return channels * speed; }
};

/// Goes down the ladder until all is used; a lower rung is taken if it moves more in all. NCCL
/// stops looking where the next rung is less than half of what it has.
template <class ChannelsAt>
Found search(std::span<const double> speeds, double total, ChannelsAt channelsAt) {
  Found best;
  for (const double speed : speeds) {
    if (best.channels > 0 && speed / best.speed <= .49) break;
    const Found here{std::min(channelsAt(speed), kMostChannels), speed};
    if (here.total() > best.total()) best = here;
    if (best.total() >= total) break;
  }
  return best;
}

/// Wide channels are split in two.
Found doubled(Found found, int capability) {
  const bool wide =
      found.speed >= 25 && !(capability > 80 && found.speed < 50 && found.channels > 4);
  if (!wide || found.channels * 2 > kMostChannels) return found;
  return {found.channels * 2, found.speed / 2};
}

double bandwidthInside(const UniformCluster& c) {
  return c.gpu.links > 0 ? c.gpu.links * c.gpu.linkGBps : c.gpu.pciGBps;
}

Found insideNode(const UniformCluster& c) {
  const double total = bandwidthInside(c);
  const Found found = search(ladder(c.gpu.computeCapability, true), total,
                             [&](double speed) { return static_cast<int>(total / speed); });
  return doubled(found, c.gpu.computeCapability);
}

/// A channel enters and leaves a node by one NIC and passes its GPUs once.
Found betweenNodes(const UniformCluster& c) {
  const double nic = c.nicGbps / 8, inside = bandwidthInside(c);
  const double total = std::min(nic * c.nicsPerNode, inside);
  const Found found = search(ladder(c.gpu.computeCapability, false), total, [&](double speed) {
    const int byNics = c.nicsPerNode * static_cast<int>(nic / speed);
    const int byLinks = c.gpusPerNode == 1 ? byNics : static_cast<int>(inside / speed);
    return std::min(byNics, byLinks);
  });
  return doubled(found, c.gpu.computeCapability);
}

/// One head per GPU, all pulling evenly.
NcclGraph nvlsGraph(const UniformCluster& c, const NcclGraph& ring) {
  NcclGraph graph = ring;
  graph.sameChannels = false;
  const double total = bandwidthInside(c);
  graph.channels = c.gpusPerNode;
  for (const double speed : ladder(c.gpu.computeCapability, true)) {
    graph.intraGBps = speed;
    if (speed * c.gpusPerNode <= total) break;
  }
  graph.interGBps = c.nodes == 1 ? graph.intraGBps : c.nicGbps / 8;
  return graph;
}

void check(const UniformCluster& c) {
  if (c.nodes < 1 || c.gpusPerNode < 1 || c.nodes * c.gpusPerNode < 2)
    throw Error(ErrorCode::kUsage, "cluster: fewer than two GPUs", "give --nodes and --gpus");
  if (c.nodes > 1 && (c.nicsPerNode < 1 || c.nicGbps <= 0))
    throw Error(ErrorCode::kUsage, "cluster: several nodes without a NIC",
                "give --nics and --nic-gbps");
}

}  // namespace

const std::vector<GpuKind>& gpuKinds() {
  static const std::vector<GpuKind> kinds = {
      {"v100", 70, 6, 20.0, 12.0, false},  {"a100", 80, 12, 20.0, 24.0, false},
      {"a800", 80, 8, 20.0, 24.0, false},  {"h100", 90, 18, 20.6, 48.0, true},
      {"h200", 90, 18, 20.6, 48.0, true},  {"h800", 90, 8, 20.6, 48.0, true},
      {"b200", 100, 18, 40.1, 48.0, true}, {"l40s", 89, 0, 0, 24.0, false},
      {"rtx4090", 89, 0, 0, 24.0, false},
  };
  return kinds;
}

const GpuKind& gpuKindNamed(const std::string& name) {
  std::string known;
  for (const GpuKind& kind : gpuKinds()) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw Error(ErrorCode::kUsage, "--gpu: '" + name + "' is not known", "known are " + known);
}

NcclCluster describe(const UniformCluster& c) {
  check(c);
  NcclCluster out;
  out.nodes = c.nodes;
  out.ranks = c.nodes * c.gpusPerNode;
  out.computeCapability = c.gpu.computeCapability;
  out.cpu = c.cpu;
  const Found found = c.nodes == 1 ? insideNode(c) : betweenNodes(c);
  const bool nvlink = c.gpu.links > 0 || c.gpusPerNode == 1;
  const NcclGraph ring{found.channels, found.speed, found.speed, 0, c.gpu.links > 0, true, nvlink};
  out.graphs[kRing] = out.graphs[kTree] = ring;
  // A tree of one or two GPUs uses each link of the node in one direction only.
  if (c.gpusPerNode <= 2) out.graphs[kTree].intraGBps *= 2;
  out.graphs[kPat] = out.graphs[kTree];
  out.simpleTree = c.gpusPerNode == 1;
  if (c.nvls && c.gpu.nvls && c.gpusPerNode > 1)
    out.graphs[kNvls] = out.graphs[kNvlsTree] = nvlsGraph(c, ring);
  out.patPossible = c.gpusPerNode == 1;
  return out;
}

}  // namespace autoccl::sim
