// The subspaces the engine offers, what cannot be run, and a rule of thumb for what it costs.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "engine/config_rules.h"
#include "engine/wires.h"

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

constexpr std::array<Algorithm, 3> kPlanned{Algorithm::kRing, Algorithm::kTree,
                                            Algorithm::kHalvingDoubling};

constexpr std::array<Path, 4> kPlanPaths{{{{}, Protocol::kSimple, Transport::kShm},
                                          {{}, Protocol::kLL, Transport::kShm},
                                          {{}, Protocol::kSimple, Transport::kCma},
                                          {{}, Protocol::kZero, Transport::kShm}}};

template <class T>
std::vector<T> doublings(uint64_t first, uint64_t last) {
  std::vector<T> grid;
  for (uint64_t v = first; v <= last; v *= 2) grid.push_back(static_cast<T>(v));
  return grid;
}

bool isDirect(const Config& c) noexcept {
  return std::any_of(kDirect.begin(), kDirect.end(), [&](const Path& p) {
    return p.algorithm == c.algorithm && p.protocol == c.protocol && p.transport == c.transport;
  });
}

/// What it costs to wait for the scheduler while somebody else holds the CPU.
constexpr double kTickUs = 4000;

/// Workers of one rank beyond which the search does not go: more than there are CPUs for only take
/// turns, and a turn of the scheduler costs a thousand calls.
int mostWorkers(const Host& host) {
  return std::max(host.cpus / host.nRanks, 1);
}

/// Adds the path with every wait policy, if its smallest config can run.
void addPath(Space& space, const Path& path, const Host& host) {
  Subspace s;
  s.algorithm = path.algorithm;
  s.protocol = path.protocol;
  s.transport = path.transport;
  const int most = mostWorkers(host);
  s.channels = doublings<uint16_t>(1, static_cast<uint64_t>(std::min(most, host.maxChannels)));
  s.threads = doublings<uint16_t>(1, static_cast<uint64_t>(std::min(most, host.maxThreads)));
  s.chunks = doublings<uint32_t>(std::min<uint32_t>(4096, host.maxChunk), host.maxChunk);
  // Direct paths take sources in rank order, whoever computes; a plan's order is its algorithm's.
  const bool ordered = !isPlanned(path.algorithm) || !reduces(space.task.collective);
  s.numericalClass = ordered ? 1 : 2 + static_cast<uint32_t>(path.algorithm);
  if (!std::any_of(s.chunks.begin(), s.chunks.end(), [&](uint32_t chunk) {
        return canRun({path.algorithm, path.protocol, path.transport, 0, 1, 1, chunk},
                      space.task.collective, host);
      }))
    return;
  for (int w = 0; w < kWaitPolicies; ++w) {
    s.extra = static_cast<uint8_t>(w);
    space.subspaces.push_back(s);
  }
}

}  // namespace

bool canRun(const Config& config, Collective collective, const Host& host) {
  if (config.extra >= kWaitPolicies || clampConfig(config, host) != config) return false;
  if (config.transport == Transport::kCma && !host.cma) return false;
  if (!isPlanned(config.algorithm)) return isDirect(config);
  return PlanRunner::offers(wireGeometry(host.nRanks), config, collective);
}

Space spaceOf(const Task& task, const Host& host) {
  Space space;
  space.task = task;
  space.fallback = defaultConfig(task, host);
  space.fallbackClass = 1;
  space.extraName = "wait";
  for (int w = 0; w < kWaitPolicies; ++w)
    space.extraValues.emplace_back(toText(static_cast<WaitPolicy>(w)));
  for (const Path& path : kDirect) addPath(space, path, host);
  for (const Algorithm algorithm : kPlanned)
    for (Path path : kPlanPaths) {
      path.algorithm = algorithm;
      addPath(space, path, host);
    }
  space.valid = [collective = task.collective, host](const Config& c) {
    return c.channels * c.threads <= mostWorkers(host) && canRun(c, collective, host);
  };
  space.priorUs = [task, host](const Config& c) { return priorUs(c, task, host); };
  return space;
}

void checkConfig(const Config& config, const Host& host) {
  for (int i = 0; i < kCollectives; ++i)
    if (canRun(config, static_cast<Collective>(i), host)) return;
  const Config clamped = clampConfig(config, host);
  throw Error(ErrorCode::kUsage, "config '" + toText(config) + "' cannot be run here",
              clamped != config ? "nearest in range: " + toText(clamped)
                                : "allowed: what acclCommSpace prints");
}

double priorUs(const Config& c, const Task& task, const Host& host) noexcept {
  const double n = host.nRanks, bytes = static_cast<double>(task.bytes);
  const double workers = c.channels * c.threads;
  double alphaUs = 1, GBps = 20;  // zero
  if (c.protocol == Protocol::kLL) GBps = 3;
  if (c.protocol == Protocol::kSimple) GBps = c.transport == Transport::kCma ? 8 : 6;
  if (c.transport == Transport::kCma) alphaUs = 3;
  const double depth = std::ceil(std::log2(std::max(n, 2.0)));
  switch (c.algorithm) {
    case Algorithm::kRing:
      alphaUs *= 2 * (n - 1);
      break;
    case Algorithm::kTree:
    case Algorithm::kHalvingDoubling:
      alphaUs *= 2 * depth;
      break;
    case Algorithm::kOneShot:
      GBps *= 2 / n;
      break;
    default:
      alphaUs *= 2;
  }
  const double steps = std::max(1.0, bytes / (c.chunk * workers));
  const double filling =
      std::min<double>(bytes, c.chunk) / 1e3 / GBps * (isPlanned(c.algorithm) ? depth : 1);
  const double excess = std::max(1.0, n * workers / host.cpus);
  double us = (alphaUs + bytes / 1e3 / GBps + 0.2 * steps + 0.3 * filling) * (0.5 + 0.5 * excess);
  const auto wait = static_cast<WaitPolicy>(c.extra);
  if (host.crowded() && wait == WaitPolicy::kSpin) us += kTickUs;
  if (workers > 1 && n * workers > host.cpus) us += kTickUs;
  if (host.crowded() && wait == WaitPolicy::kFutex) us += 20 * n;
  return us;
}

}  // namespace autoccl
