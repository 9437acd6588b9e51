// What a plan puts on each link, and how long that takes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "topo/plan.h"

namespace autoccl::topo {

enum class LinkLevel : uint8_t { kGpuLink, kPci, kHostBridge, kSocket, kNic, kSpine };
inline constexpr int kLinkLevels = 6;
[[nodiscard]] const char* toText(LinkLevel) noexcept;

/// All links of one level together. A hop is one message's way over one such link.
struct LevelCost {
  int64_t hops = 0;         // of one step of all rings
  double bytes = 0;         // of the whole collective, over all links of the level
  double busiestBytes = 0;  // over one link, one direction
  std::string busiest;      // "host 0: GPU3", "leaf2 up"
  double GBps = 0;          // of that link; 0: unknown
  [[nodiscard]] double seconds() const { return GBps > 0 ? busiestBytes / GBps / 1e9 : 0; }
};

struct PlanCost {
  std::array<LevelCost, kLinkLevels> levels;
  int crossRailPairs = 0;      // a NIC that sends to a NIC of another rail
  int leafCrossings = 0;       // hops between hosts that leave the leaf
  int nicsUsed = 0, nics = 0;  // of one host
  [[nodiscard]] double slowestSeconds() const;
};

/// An AllReduce of `bytes` by rings, cut into equal parts for the rings: each hop carries
/// 2(N-1)/N of its part. Cost: rings x (hosts + GPUs).
[[nodiscard]] PlanCost ringCost(const Job& job, const std::vector<RingChannel>& rings,
                                double bytes);

/// The fewest bytes that the busiest NIC of any ring AllReduce can carry: 2(N-1)/N of the bytes,
/// over all NICs of a host.
[[nodiscard]] double ringLowerBound(const Job& job, double bytes);

/// Seconds of an AllReduce by the equations of docs/topo.md: one flat ring for each NIC, or in two
/// dimensions (reduce-scatter inside the host, AllReduce of each part along its rail, AllGather
/// inside). 0 where a link's speed is unknown.
struct TwoWays {
  double flat = 0, twoDimensional = 0;
};
[[nodiscard]] TwoWays allReduceSeconds(const Job& job, double bytes);

/// alpha and GB/s of a step inside the host: the fabric's, else by the host's own links.
[[nodiscard]] LinkClass insideLink(const Job& job);

}  // namespace autoccl::topo
