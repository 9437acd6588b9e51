#include "topo/plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "topo/paths.h"

namespace autoccl::topo {
namespace {

constexpr int kMostSearchSteps = 20000;  // of one ring at one level of sharing
constexpr int kMostSharing = 16;

/// Chooses the order of GPUs inside a host. Links that earlier rings took cost a little more, so
/// that rings of an uneven NVLink spread.
class InsideOrder {
 public:
  explicit InsideOrder(const Host& host) : n_(static_cast<int>(host.gpus.size())) {
    paths_.resize(static_cast<size_t>(n_) * static_cast<size_t>(n_));
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) path(i, j) = gpuToGpu(host, i, j);
  }

  /// From `first` over all GPUs to `last` (-1: anywhere).
  std::vector<int> from(int first, int last) {
    std::vector<int> order;
    bool found = false;
    for (most_ = 1; !found && most_ <= kMostSharing; ++most_) {
      std::vector<char> seen(static_cast<size_t>(n_));
      order = {first};
      seen[static_cast<size_t>(first)] = 1;
      steps_ = 0;
      found = overLinks(order, seen, last);
    }
    if (!found) order = greedy(first, last);
    for (size_t i = 0; i + 1 < order.size(); ++i) ++used_[{order[i], order[i + 1]}];
    if (last < 0) ++used_[{order.back(), first}];  // the way back, or to the GPU next to the NIC
    return order;
  }
  [[nodiscard]] bool allJoined() const {
    return std::ranges::all_of(paths_, [](const Path& p) { return p.path <= PathClass::kNvlink; });
  }

 private:
  Path& path(int i, int j) {
    return paths_[static_cast<size_t>(i) * static_cast<size_t>(n_) + static_cast<size_t>(j)];
  }

  /// GPUs by NVLink next to `at`, least used, widest, then next in number first.
  std::vector<int> neighbours(int at, const std::vector<char>& seen) {
    std::vector<int> next;
    for (int k = 1; k < n_; ++k) {
      const int g = (at + k) % n_;
      if (!seen[static_cast<size_t>(g)] && path(at, g).path == PathClass::kNvlink &&
          used_[{at, g}] < most_)
        next.push_back(g);
    }
    std::ranges::stable_sort(next, [&](int a, int b) {
      const int ua = used_[{at, a}], ub = used_[{at, b}];
      return ua != ub ? ua < ub : path(at, a).GBps > path(at, b).GBps;
    });
    return next;
  }

  bool overLinks(std::vector<int>& order, std::vector<char>& seen, int last) {
    if (static_cast<int>(order.size()) == n_) {
      if (last >= 0 || n_ == 1) return order.back() == last || n_ == 1;
      return used_[{order.back(), order.front()}] < most_;
    }
    if (++steps_ > kMostSearchSteps) return false;
    for (const int g : neighbours(order.back(), seen)) {
      if (g == last && static_cast<int>(order.size()) + 1 < n_) continue;
      order.push_back(g);
      seen[static_cast<size_t>(g)] = 1;
      if (overLinks(order, seen, last)) return true;
      order.pop_back();
      seen[static_cast<size_t>(g)] = 0;
    }
    return false;
  }

  /// The nearest unseen GPU each time: switches and sockets are left only when they are done.
  std::vector<int> greedy(int first, int last) {
    std::vector<int> order{first};
    std::vector<char> seen(static_cast<size_t>(n_));
    seen[static_cast<size_t>(first)] = 1;
    while (static_cast<int>(order.size()) < n_) {
      int best = -1;
      for (int g = 0; g < n_; ++g) {
        if (seen[static_cast<size_t>(g)]) continue;
        if (g == last && static_cast<int>(order.size()) + 1 < n_) continue;
        const Path &p = path(order.back(), g), &b = path(order.back(), std::max(best, 0));
        if (best < 0 || p.path < b.path || (p.path == b.path && p.GBps > b.GBps)) best = g;
      }
      order.push_back(best);
      seen[static_cast<size_t>(best)] = 1;
    }
    return order;
  }

  int n_;
  std::vector<Path> paths_;
  std::map<std::pair<int, int>, int> used_;
  int steps_ = 0;
  int most_ = 1;  // rings that may use one link
};

/// GPUs by how near they are to a NIC; earlier rings' first GPUs come later among equals.
std::vector<int> gpusByDistance(const Host& host, int nic, const std::vector<int>& used) {
  std::vector<int> order(host.gpus.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<PathClass> classes;
  classes.reserve(order.size());
  for (const int g : order) classes.push_back(gpuToNic(host, g, nic).path);
  std::ranges::stable_sort(order, [&](int a, int b) {
    const PathClass ca = classes[static_cast<size_t>(a)], cb = classes[static_cast<size_t>(b)];
    return ca != cb ? ca < cb : used[static_cast<size_t>(a)] < used[static_cast<size_t>(b)];
  });
  return order;
}

/// Hosts so that those of one leaf follow each other.
std::vector<int> hostsByLeaf(const Fabric& fabric, int rail) {
  std::vector<int> leafOf(static_cast<size_t>(fabric.hosts), -1);
  for (size_t i = 0; i < fabric.leaves.size(); ++i)
    if (std::ranges::binary_search(fabric.leaves[i].rails, rail))
      for (const int host : fabric.leaves[i].hosts)
        leafOf[static_cast<size_t>(host)] = static_cast<int>(i);
  std::vector<int> order(static_cast<size_t>(fabric.hosts));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int h) { return leafOf[static_cast<size_t>(h)]; });
  return order;
}

std::vector<RingChannel> insideRings(const Job& job) {
  InsideOrder inside(job.host);
  const int gpus = static_cast<int>(job.host.gpus.size());
  std::vector<RingChannel> rings;
  if (inside.allJoined()) {
    rings.reserve(job.host.gpus.size());
    for (int g = 0; g < gpus; ++g) rings.push_back({inside.from(g, -1), {0}, -1, -1, false});
    return rings;
  }
  RingChannel one{inside.from(0, -1), {0}, -1, -1, false}, back = one;
  std::ranges::reverse(back.gpus);
  return {one, back};
}

RingChannel railRing(const Job& job, int nic, InsideOrder& inside, std::vector<int>& used) {
  const std::vector<int> near = gpusByDistance(job.host, nic, used);
  const int first = near.front();
  ++used[static_cast<size_t>(first)];
  RingChannel ring;
  ring.nicIn = ring.nicOut = nic;
  ring.hosts = hostsByLeaf(job.fabric, nic);
  // A second GPU as near as the first one is where the ring leaves.
  const bool second = near.size() > 1 &&
                      gpuToNic(job.host, near[1], nic).path == gpuToNic(job.host, first, nic).path;
  ring.gpus = inside.from(first, second ? near[1] : -1);
  const int last = ring.gpus.back();
  ring.overPeer = last != first && gpuToNic(job.host, last, nic).path > PathClass::kPxb &&
                  gpuToGpu(job.host, last, first).path <= PathClass::kNvlink &&
                  gpuToNic(job.host, first, nic).path < gpuToNic(job.host, last, nic).path;
  return ring;
}

}  // namespace

Job jobOf(Host host, Fabric fabric) {
  const auto gpus = static_cast<int>(host.gpus.size()), nics = static_cast<int>(host.nics.size());
  if (gpus == 0) throw Error(ErrorCode::kInput, "the host has no GPU", "give a topology with GPUs");
  if (gpus != fabric.gpusPerHost || (fabric.hosts > 1 && nics != fabric.nicsPerHost))
    throw Error(ErrorCode::kInput,
                "the topology has " + std::to_string(gpus) + " GPUs and " + std::to_string(nics) +
                    " NICs, the fabric " + std::to_string(fabric.gpusPerHost) + " and " +
                    std::to_string(fabric.nicsPerHost),
                "make them agree");
  if (fabric.hosts > 1 && nics == 0)
    throw Error(ErrorCode::kInput, "several hosts without a NIC", "give a topology with NICs");
  return {std::move(host), std::move(fabric)};
}

std::vector<RingChannel> naiveRings(const Job& job) {
  RingChannel ring;
  ring.gpus.resize(job.host.gpus.size());
  std::iota(ring.gpus.begin(), ring.gpus.end(), 0);
  ring.hosts.resize(static_cast<size_t>(job.hosts()));
  std::iota(ring.hosts.begin(), ring.hosts.end(), 0);
  if (job.hosts() > 1) {
    ring.nicIn = nicsByDistance(job.host, ring.gpus.front()).front();
    ring.nicOut = nicsByDistance(job.host, ring.gpus.back()).front();
  }
  return {ring};
}

std::vector<RingChannel> railRings(const Job& job) {
  if (job.hosts() == 1) return insideRings(job);
  InsideOrder inside(job.host);
  std::vector<int> used(job.host.gpus.size());
  std::vector<RingChannel> rings;
  rings.reserve(job.host.nics.size());
  for (int nic = 0; nic < static_cast<int>(job.host.nics.size()); ++nic)
    rings.push_back(railRing(job, nic, inside, used));
  return rings;
}

HostTrees hostTrees(int hosts) {
  // In-order numbering: host h (from 1) has as many levels below it as h has trailing zero bits,
  // and its parent is the nearest number with one more. Numbers beyond the end are skipped upwards.
  const auto parents = [hosts] {
    std::vector<int> parent(static_cast<size_t>(hosts), -1);
    for (int h = 1; h <= hosts; ++h) {
      for (int bit = h & -h, at = h; bit <= hosts; bit <<= 1) {
        const int up = (at & ~bit) | (bit << 1);  // at's parent in a full tree
        if (up <= hosts) {
          parent[static_cast<size_t>(h - 1)] = up - 1;
          break;
        }
        at = up;
      }
    }
    return parent;
  };
  HostTrees trees;
  trees.first = parents();
  trees.second.assign(static_cast<size_t>(hosts), -1);
  // The other tree is the first one with every host moved on by one: leaves become inner ones.
  for (int h = 0; h < hosts; ++h) {
    const int moved = trees.first[static_cast<size_t>((h + 1) % hosts)];
    if (moved >= 0) trees.second[static_cast<size_t>(h)] = (moved + hosts - 1) % hosts;
  }
  return trees;
}

}  // namespace autoccl::topo
