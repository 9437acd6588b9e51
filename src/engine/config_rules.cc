#include "engine/config_rules.h"

#include <algorithm>

#include "base/error.h"
#include "engine/flight.h"
#include "engine/wires.h"

namespace autoccl {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = kKiB * kKiB;
constexpr uint64_t kSmallDefault = 4 * kKiB;  // up to here beside the entry, registered or not
constexpr uint64_t kPulledDefault = kMiB;     // up to here each rank pulls what it needs
constexpr uint64_t kStagedBelow = 32 * kKiB;  // ordinary buffers: staged, cma, then staged again
constexpr uint64_t kStagedPair = 16 * kKiB;   // of two ranks that only copy
constexpr uint64_t kStagedAbove = 48 * kMiB;
constexpr uint32_t kDefaultChunk = 64 * kKiB;
constexpr uint32_t kStagedChunk = 1024 * kKiB;  // two-shot staging hands over larger blocks
constexpr uint32_t kCmaCopyChunk = 4 * kMiB;    // a copy straight into place needs no cache

}  // namespace

Config configInEffect(const Config& asked, Collective collective, const Kinds& kinds) noexcept {
  Config c = asked;
  if (c.protocol == Protocol::kZero) {
    const bool direct = c.algorithm == Algorithm::kOneShot || c.algorithm == Algorithm::kTwoShot;
    // Who pulls for itself stores into a buffer that others still read.
    const bool clash =
        c.algorithm == Algorithm::kOneShot && collective == Collective::kAllReduce && kinds.inPlace;
    if (clash) c.algorithm = Algorithm::kTwoShot;
    const bool reachable =
        kinds.sendShared && (kinds.recvShared || c.algorithm == Algorithm::kOneShot);
    if (reachable) return c;
    c.protocol = Protocol::kSimple;
    if (!direct) return c;
    c.algorithm = Algorithm::kTwoShot;
    // Through the segment both cores of a pair work; what one root gives, the kernel copies once.
    const bool large =
        kinds.nBytes >= kStagedAbove && (!rooted(collective) || collective == Collective::kReduce);
    const bool pair = kinds.nRanks == 2 && !reduces(collective) && kinds.cma;
    const bool little = kinds.nBytes <= (pair ? kStagedPair : kStagedBelow);
    const bool staged = little || large || !kinds.cma;
    c.transport = staged ? Transport::kShm : Transport::kCma;
    if (little) c.algorithm = Algorithm::kOneShot;
    if (large) c.chunk = std::max(c.chunk, kStagedChunk);
    if (!staged && !reduces(collective)) c.chunk = std::max(c.chunk, kCmaCopyChunk);
    return c;
  }
  if (c.transport == Transport::kCma && !kinds.cma) c.transport = Transport::kShm;
  return c;
}

bool runsSmall(const Config& asked, const CallShape& shape, uint64_t nBytes,
               bool ordinaryLast) noexcept {
  const bool staged = asked.algorithm == Algorithm::kOneShot &&
                      asked.protocol == Protocol::kSimple && asked.transport == Transport::kShm;
  const bool wasOrdinary = asked.protocol == Protocol::kZero && ordinaryLast;
  return (staged || wasOrdinary) && fitsSmall(shape, nBytes);
}

Config smallConfig(const Config& asked) noexcept {
  Config c = asked;
  c.algorithm = Algorithm::kOneShot;
  c.protocol = Protocol::kSimple;
  c.transport = Transport::kShm;
  return c;
}

// Who pulls reads lines that a peer has written; who claims a tile also takes lines over to write
// on them, which costs three times as much, but shares the work: for large messages, for crowded
// CPUs, and where one rank alone has or gets the data.
bool pullsByDefault(const Task& task, const Host& host) noexcept {
  const bool all = task.collective == Collective::kAllGather ||
                   task.collective == Collective::kReduceScatter ||
                   task.collective == Collective::kAllToAll;
  return all && task.bytes <= kPulledDefault && !host.crowded();
}

Config defaultConfig(const Task& task, const Host& host) noexcept {
  Config c;
  const bool small = task.bytes <= kSmallDefault;
  c.algorithm = small || pullsByDefault(task, host) ? Algorithm::kOneShot : Algorithm::kTwoShot;
  c.protocol = small ? Protocol::kSimple : Protocol::kZero;
  c.transport = Transport::kShm;
  const WaitPolicy bySeats = host.crowded() ? WaitPolicy::kYield : WaitPolicy::kFutex;
  c.extra = host.wait >= 0 ? static_cast<uint8_t>(host.wait) : static_cast<uint8_t>(bySeats);
  c.chunk = kDefaultChunk;
  return c;
}

Config clampConfig(const Config& asked, const Host& host) noexcept {
  Config c = asked;
  c.channels =
      static_cast<uint16_t>(std::clamp<int>(c.channels, 1, std::min(kMaxLanes, host.maxChannels)));
  c.threads = static_cast<uint16_t>(
      std::clamp<int>(c.threads, 1, std::min(kMaxWorkers / c.channels, host.maxThreads)));
  const uint64_t most = host.stageBytes / (2 * kStageSlots) / (uint64_t{c.channels} * c.threads);
  const bool staged =
      !isPlanned(c.algorithm) && c.protocol == Protocol::kSimple && c.transport == Transport::kShm;
  c.chunk = std::clamp<uint32_t>(c.chunk, 1024, std::max<uint32_t>(host.maxChunk, 1024));
  if (staged) c.chunk = static_cast<uint32_t>(std::min<uint64_t>(c.chunk, most));
  return c;
}

std::string disagreement(const Call& call, const Terms& mine, const Terms& theirs, int myRank,
                         int theirRank, uint32_t number) {
  const std::string where = "call " + std::to_string(number) + ": ranks " + std::to_string(myRank) +
                            " and " + std::to_string(theirRank);
  if (mine.signature == theirs.signature)
    return where + " hold different configs (" + toText(mine.config) + " and " +
           toText(theirs.config) + "); pin configs on all ranks at the same call";
  return where + " differ in collective, count, data type, operation or root (here: " +
         std::string(toText(call.collective)) + " of " + std::to_string(call.count) + " " +
         std::string(toText(call.dtype)) + "); issue the same calls in the same order on all ranks";
}

}  // namespace autoccl
