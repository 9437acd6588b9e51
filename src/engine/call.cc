#include "engine/call.h"

#include <algorithm>
#include <array>
#include <bit>

namespace autoccl {
namespace {

uint64_t extent(const size_t* counts, const size_t* displs, int nRanks, size_t size) noexcept {
  uint64_t end = 0;
  for (int i = 0; i < nRanks; ++i)
    if (counts[i] != 0) end = std::max(end, displs[i] + counts[i]);
  return end * size;
}

uint64_t total(const size_t* counts, int nRanks) noexcept {
  uint64_t sum = 0;
  for (int i = 0; i < nRanks; ++i) sum += counts[i];
  return sum;
}

uint64_t stir(uint64_t hash, uint64_t value) noexcept {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdULL;
}

}  // namespace

uint64_t sendExtent(const Call& c, int rank, int nRanks) noexcept {
  const size_t size = sizeOf(c.dtype);
  const auto n = static_cast<uint64_t>(nRanks);
  switch (c.collective) {
    case Collective::kBarrier:
      return 0;
    case Collective::kBroadcast:
      return rank == c.root ? c.count * size : 0;
    case Collective::kScatter:
      return rank == c.root ? n * c.count * size : 0;
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return n * c.count * size;
    case Collective::kAllGatherv:
      return c.recvCounts[rank] * size;
    case Collective::kReduceScatterv:
      return total(c.recvCounts, nRanks) * size;
    case Collective::kAllToAllv:
      return extent(c.sendCounts, c.sendDispls, nRanks, size);
    default:
      return c.count * size;
  }
}

uint64_t recvExtent(const Call& c, int rank, int nRanks) noexcept {
  const size_t size = sizeOf(c.dtype);
  const auto n = static_cast<uint64_t>(nRanks);
  switch (c.collective) {
    case Collective::kBarrier:
      return 0;
    case Collective::kReduce:
      return rank == c.root ? c.count * size : 0;
    case Collective::kGather:
      return rank == c.root ? n * c.count * size : 0;
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return n * c.count * size;
    case Collective::kReduceScatterv:
      return c.recvCounts[rank] * size;
    case Collective::kAllGatherv:
    case Collective::kAllToAllv:
      return extent(c.recvCounts, c.recvDispls, nRanks, size);
    default:
      return c.count * size;
  }
}

uint64_t nBytesOf(const Call& c, int nRanks) noexcept {
  const size_t size = sizeOf(c.dtype);
  const auto n = static_cast<uint64_t>(nRanks);
  switch (c.collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return n * c.count * size;
    case Collective::kAllGatherv:
    case Collective::kReduceScatterv:
      return total(c.recvCounts, nRanks) * size;
    case Collective::kAllToAllv:
    case Collective::kBarrier:
      return 0;
    default:
      return c.count * size;
  }
}

CallShape shapeOf(const Call& c, int nRanks) noexcept {
  CallShape shape;
  shape.collective = c.collective;
  shape.nRanks = nRanks;
  shape.root = c.root;
  shape.elementBytes = sizeOf(c.dtype);
  shape.bytes = c.count * shape.elementBytes;
  shape.counts = c.recvCounts;
  shape.displs = c.recvDispls;
  return shape;
}

uint64_t signatureOf(const Call& c, int nRanks) noexcept {
  const uint64_t kinds = uint64_t(c.collective) | uint64_t(c.dtype) << 8 | uint64_t(c.op) << 16 |
                         uint64_t(static_cast<uint32_t>(c.root)) << 24;
  uint64_t hash = stir(0x2545f4914f6cdd1dULL, kinds);
  if (!uneven(c.collective)) return stir(hash, c.count);
  if (c.collective == Collective::kAllToAllv) return hash;
  for (int i = 0; i < nRanks; ++i) {
    hash = stir(hash, c.recvCounts[i]);
    if (c.collective == Collective::kAllGatherv) hash = stir(hash, c.recvDispls[i]);
  }
  return hash;
}

uint64_t hashOf(const Terms& terms) noexcept {
  const auto words = std::bit_cast<std::array<uint64_t, 2>>(terms.config);
  return stir(stir(terms.signature, words[0]), words[1]);
}

}  // namespace autoccl
