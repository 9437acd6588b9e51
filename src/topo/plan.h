// Rings and trees of a job over equal hosts: which GPU follows which, over which NIC.
#pragma once

#include <string>
#include <vector>

#include "topo/fabric.h"
#include "topo/host.h"

namespace autoccl::topo {

/// One ring. It enters each host at gpus.front() from NIC `nicIn`, passes all GPUs in this order
/// and leaves from gpus.back() over NIC `nicOut` to the next of `hosts`, then from the last to the
/// first. `overPeer`: the last GPU hands its data to the first one, which is next to the NIC (PXN),
/// since its own way there is longer.
struct RingChannel {
  std::vector<int> gpus;
  std::vector<int> hosts;
  int nicIn = -1, nicOut = -1;  // -1: a job of one host
  bool overPeer = false;
};

/// The job that is planned. NIC i of each host is on rail i of the fabric.
struct Job {
  Host host;  // all are alike
  Fabric fabric;

  [[nodiscard]] int hosts() const { return fabric.hosts; }
  [[nodiscard]] int ranks() const { return fabric.hosts * static_cast<int>(host.gpus.size()); }
};

/// Checks that host and fabric fit together. Throws Error (kInput) with both numbers where not.
[[nodiscard]] Job jobOf(Host host, Fabric fabric);

/// What the numbering of ranks alone gives: one ring, host after host in the order of the fabric,
/// GPU after GPU, each host left by the NIC next to its last GPU and entered by the one next to its
/// first.
[[nodiscard]] std::vector<RingChannel> naiveRings(const Job& job);

/// One ring for each NIC (with one host: one for each GPU where all are joined, else two). Each
/// stays on its rail; inside a host it follows NVLink where that joins all GPUs, else it leaves a
/// switch and a socket as seldom as it can; between hosts those of one leaf follow each other.
/// Cost: NICs x (hosts log hosts + GPUs^2), and a bounded search for a way over uneven NVLink.
[[nodiscard]] std::vector<RingChannel> railRings(const Job& job);

/// Parent of each host in one of two binary trees, -1 at the root. Both have depth
/// ceil(log2(hosts + 1)) at most, and no host has children in both (for an even number; for an odd
/// one a single host may).
struct HostTrees {
  std::vector<int> first, second;
};
[[nodiscard]] HostTrees hostTrees(int hosts);

}  // namespace autoccl::topo
