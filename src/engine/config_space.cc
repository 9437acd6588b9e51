// The subspaces the engine offers, and what cannot be run.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "engine/communicator.h"
#include "engine/config_rules.h"

namespace autoccl {
namespace {

struct Path {
  Algorithm algorithm;
  Protocol protocol;
  Transport transport;
};

constexpr std::array<Path, 5> kDirect{{{Algorithm::kOneShot, Protocol::kSimple, Transport::kShm},
                                       {Algorithm::kTwoShot, Protocol::kSimple, Transport::kShm},
                                       {Algorithm::kTwoShot, Protocol::kSimple, Transport::kCma},
                                       {Algorithm::kOneShot, Protocol::kZero, Transport::kShm},
                                       {Algorithm::kTwoShot, Protocol::kZero, Transport::kShm}}};

bool same(const Path& p, const Config& c) noexcept {
  return p.algorithm == c.algorithm && p.protocol == c.protocol && p.transport == c.transport;
}

template <class T>
std::vector<T> doublings(uint64_t first, uint64_t last) {
  std::vector<T> grid;
  for (uint64_t v = first; v <= last; v *= 2) grid.push_back(static_cast<T>(v));
  return grid;
}

}  // namespace

Space spaceOf(const Task& task, bool crowded, bool cma, const Layout& layout) {
  Space space;
  space.task = task;
  space.fallback = defaultConfig(task, crowded);
  space.fallbackClass = 1;
  space.extraName = "wait";
  for (int w = 0; w < kWaitPolicies; ++w) space.extraValues.emplace_back(toText(static_cast<WaitPolicy>(w)));
  for (const Path& path : kDirect) {
    if (path.transport == Transport::kCma && !cma) continue;
    for (int w = 0; w < kWaitPolicies; ++w) {
      Subspace s;
      s.algorithm = path.algorithm;
      s.protocol = path.protocol;
      s.transport = path.transport;
      s.extra = static_cast<uint8_t>(w);
      s.channels = doublings<uint16_t>(1, 8);
      s.threads = doublings<uint16_t>(1, 4);
      s.chunks = doublings<uint32_t>(4096, 4u << 20);
      s.numericalClass = 1;  // sources are taken in rank order, whoever computes
      space.subspaces.push_back(std::move(s));
    }
  }
  const int nRanks = task.nRanks;
  space.valid = [layout, nRanks](const Config& c) { return clampConfig(c, layout, nRanks) == c; };
  return space;
}

void checkConfig(const Config& config, const Layout& layout, int nRanks) {
  const bool known = std::any_of(kDirect.begin(), kDirect.end(), [&](const Path& p) { return same(p, config); });
  if (!known || config.extra >= kWaitPolicies)
    throw Error(ErrorCode::kUsage, "config '" + toText(config) + "': this engine has no such path",
                "allowed: what acclCommSpace prints");
  const Config clamped = clampConfig(config, layout, nRanks);
  if (clamped != config)
    throw Error(ErrorCode::kUsage, "config '" + toText(config) + "' is out of range", "nearest: " + toText(clamped));
}

Config Communicator::defaultFor(const Task& task) const noexcept { return defaultConfig(task, crowded_); }

Space Communicator::spaceFor(const Task& task) const { return spaceOf(task, crowded_, cmaAllowed_, layout_); }

}  // namespace autoccl
