// Small messages: what a rank sends goes in beside its entry, before that is raised; so entering
// the call is all that ranks wait for.
//
// The copy lies as it does in the send buffer, without what only its owner needs. Line transfers of
// a call, one after another on the longest way: the entry (with its flag), then the copy's lines,
// which come side by side. The slot of the next call but one is asked back from the peers at the
// end of a call, so that the stores of that call need not wait for it.
#include <cstring>

#include "engine/flight.h"
#include "plan/blocks.h"
#include "transport/prefetch.h"

namespace autoccl {
namespace {

constexpr uint64_t kWhole = UINT64_MAX;  // a chunk that leaves every piece in one tile
constexpr uint64_t kLine = 64;

/// The part of this rank's send buffer that no other rank needs.
ByteRange onlyMine(const Flight& f, uint64_t extent) noexcept {
  const CallShape& s = f.shape;
  switch (s.collective) {
    case Collective::kReduce:
    case Collective::kGather:
      return {0, f.rank == s.root ? extent : 0};
    case Collective::kReduceScatter:
    case Collective::kReduceScatterv:
    case Collective::kAllToAll:
      return BlockMap(s, f.rank, f.nRanks).source(f.rank);
    case Collective::kScatter:
      return {static_cast<uint64_t>(f.rank) * s.bytes, s.bytes};
    default:
      return {0, 0};
  }
}

}  // namespace

bool fitsSmall(const CallShape& s, uint64_t nBytes) noexcept {
  switch (s.collective) {
    case Collective::kBarrier:
    case Collective::kAllToAllv:  // what a rank sends differs, and with it the path would
      return false;
    case Collective::kAllGather:
    case Collective::kGather:
      return s.bytes <= kSmallBytes;
    default:
      return nBytes <= kSmallBytes;
  }
}

void smallIn(const Flight& f) noexcept {
  const uint64_t extent = sendExtent(*f.call, f.rank, f.nRanks);
  if (extent == 0) return;
  const ByteRange skip = onlyMine(f, extent);
  const std::byte* from = f.send[static_cast<size_t>(f.rank)];
  std::byte* to = f.layout->small(f.number, f.rank);
  std::memcpy(to, from, skip.offset);
  const uint64_t rest = skip.offset + skip.bytes;
  std::memcpy(to + rest, from + rest, extent - rest);
}

void smallOut(const Flight& f) noexcept {
  const auto me = static_cast<size_t>(f.rank);
  const TileMap tiles(f.shape, f.rank, kWhole, f.scratchOf(0));
  const uint64_t count = tiles.size();
  for (uint64_t i = 0; i < count; ++i) {
    const Tile t = tiles[(me + 1 + i) % count];  // one's own last: the others' are under way
    std::array<const void*, kMaxRanks> src;
    size_t n = 0;
    for (int r = t.src.first; r < t.src.first + t.src.count; ++r)
      src[n++] = (r == f.rank ? f.send[me] : f.layout->small(f.number, r)) + t.srcOffset;
    void* const to = f.recv[me] + t.dstOffset;
    if (t.reduce || to != src[0]) combine(f, t.reduce, {src.data(), n}, {&to, 1}, t.bytes, false);
  }
}

void askBackSlots(const Flight& f, bool small) noexcept {
  ownSoon(&f.layout->entry(f.number + 1, f.rank));
  if (!small) return;
  const uint64_t extent = sendExtent(*f.call, f.rank, f.nRanks);
  const std::byte* slot = f.layout->small(f.number + 1, f.rank);
  for (uint64_t at = 0; at < extent; at += kLine) ownSoon(slot + at);
}

}  // namespace autoccl
