#include "direct/arena.h"

#include <algorithm>

#include "direct/kernels/lane.h"

namespace autoccl::direct {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kDeepest =
    4;  // slots beyond these do not help: a chunk is filled while one is drained
constexpr uint64_t kUnit = 16;
constexpr uint64_t kLeastChunk = 4096;

uint64_t up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

uint64_t dataOf(Protocol p) noexcept {
  return (p == Protocol::kLL ? LineLL::kWords : LineLL128::kWords) * 4;
}
uint64_t lineOf(Protocol p) noexcept {
  return p == Protocol::kLL ? LineLL::kBytes : LineLL128::kBytes;
}

/// Blocks share the bytes; a chunk never asks for more than one block's share.
uint32_t chunkFor(uint64_t bytes, const Config& c) {
  const uint64_t share = up((bytes + c.channels - 1) / c.channels, kUnit);
  const uint64_t most = std::max<uint64_t>(c.chunk / kUnit * kUnit, kUnit);
  return static_cast<uint32_t>(std::clamp(std::max(share, kLeastChunk), kUnit, most));
}

}  // namespace

Arena Arena::plan(uint64_t memory, int nRanks) {
  const auto peers = static_cast<uint64_t>(std::max(nRanks - 1, 1));
  Arena a;
  a.bytes = up(std::max(memory, kMinimum), kPage);
  a.streamFlags = kFlagBytes;
  a.lines = up(a.streamFlags + kStreamFlags * kMaxRanks * kStreamFlagStep, kPage);
  a.reach = a.bytes / 4 / 2 / peers / 128 * 128;
  a.staging = up(a.lines + 2 * peers * a.reach, kPage);
  a.stagingBytes = a.bytes - a.staging;
  return a;
}

uint64_t pieceOf(const Task& task) noexcept {
  switch (task.collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return task.bytes / static_cast<uint64_t>(std::max(task.nRanks, 1));
    default:
      return task.bytes;
  }
}

uint64_t mostInLines(const Arena& arena, Protocol protocol) noexcept {
  return arena.reach / lineOf(protocol) * dataOf(protocol);
}

bool suits(Collective collective, const Config& c) noexcept {
  const bool twoShot = c.algorithm == Algorithm::kTwoShot;
  if (!twoShot && c.algorithm != Algorithm::kOneShot) return false;
  const bool lines = c.protocol == Protocol::kLL || c.protocol == Protocol::kLL128;
  switch (collective) {
    case Collective::kAllReduce:  // one shot by copy engines, or without staging, saves nothing
      if (c.transport == Transport::kCe) return twoShot && c.protocol == Protocol::kSimple;
      if (c.transport != Transport::kP2p) return false;
      return twoShot ? !lines : c.protocol != Protocol::kZero;
    case Collective::kReduceScatter:
      if (twoShot || (c.transport == Transport::kCe && c.protocol != Protocol::kSimple))
        return false;
      break;
    case Collective::kAllGather:
    case Collective::kBroadcast:
    case Collective::kAllToAll:
      if (twoShot || (c.transport == Transport::kCe && lines)) return false;
      break;
    default:
      return false;
  }
  return c.transport == Transport::kP2p || c.transport == Transport::kCe;
}

Geometry geometryOf(const Arena& arena, const Shape& shape, const Config& c) {
  Geometry g;
  const auto n = static_cast<uint64_t>(shape.nRanks);
  const bool twoShot = c.algorithm == Algorithm::kTwoShot;
  g.threads = std::clamp<uint32_t>(c.threads / 32u * 32u, 32, 512);
  g.slice = up((shape.piece + n - 1) / n, kUnit);
  const uint64_t bytes = twoShot ? g.slice : shape.piece;
  const uint64_t lanes = std::clamp<uint64_t>(c.channels, 1, kMaxBlocks);
  const auto blocksFor = [&](uint64_t unit) {
    return static_cast<uint32_t>(std::clamp<uint64_t>((bytes + unit - 1) / unit, 1, lanes));
  };
  if (c.protocol == Protocol::kLL || c.protocol == Protocol::kLL128) {
    g.blocks = blocksFor(dataOf(c.protocol) * g.threads);
    g.depth = shape.piece <= mostInLines(arena, c.protocol) ? 1 : 0;
    return g;
  }
  if (c.protocol == Protocol::kZero) {
    g.blocks = blocksFor(kUnit * g.threads);
    g.depth = 1;
    return g;
  }
  const bool engines = c.transport == Transport::kCe;
  g.chunk = engines
                ? static_cast<uint32_t>(std::max<uint64_t>(c.chunk / kUnit * kUnit, kLeastChunk))
                : chunkFor(bytes, c);
  g.blocks = engines ? static_cast<uint32_t>(lanes) : blocksFor(g.chunk);
  const uint64_t turns = (bytes + g.chunk - 1) / g.chunk / (engines ? 1 : g.blocks) + 1;
  const uint64_t turnBytes = (n - 1) * (engines ? 1 : g.blocks) * g.chunk * (twoShot ? 2 : 1);
  const uint64_t fitting = arena.stagingBytes / turnBytes;
  g.depth = fitting < 2 || turns >= uint64_t{1} << kChunkBits
                ? 0
                : static_cast<uint32_t>(std::min<uint64_t>(fitting, kDeepest));
  return g;
}

}  // namespace autoccl::direct
