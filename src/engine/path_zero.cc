// Registered memory, one pass: runClaimed and runPulled.
#include <algorithm>

#include "engine/flight.h"
#include "engine/kernels.h"

namespace autoccl {
namespace {

constexpr uint64_t kLeastFair = 2048;  // no use in cutting a message into smaller tiles than this

struct Span {
  uint64_t first = 0, last = 0;
};

Span shareOf(uint64_t total, int part, int parts) noexcept {
  const auto p = static_cast<uint64_t>(part), n = static_cast<uint64_t>(parts);
  return {total / n * p + std::min(p, total % n), total / n * (p + 1) + std::min(p + 1, total % n)};
}

uint64_t chunkOf(const Flight& f, int hands) noexcept {
  if (uneven(f.shape.collective)) return f.config.chunk;  // its pieces differ, and are many
  const uint64_t chunk = fairChunk(f.shape.bytes, hands, f.config.chunk);
  return std::max(chunk, std::min<uint64_t>(f.config.chunk, kLeastFair));
}

void doTile(const Flight& f, const Tile& t) noexcept {
  std::array<const void*, kMaxRanks> src;
  std::array<void*, kMaxRanks> dst;
  size_t nSrc = 0, nDst = 0;
  for (int r = t.src.first; r < t.src.first + t.src.count; ++r)
    src[nSrc++] = f.send[static_cast<size_t>(r)] + t.srcOffset;
  for (int r = t.dst.first; r < t.dst.first + t.dst.count; ++r) {
    void* to = f.recv[static_cast<size_t>(r)] + t.dstOffset;
    if (t.reduce || to != src[0]) dst[nDst++] = to;
  }
  combine(f, t.reduce, {src.data(), nSrc}, {dst.data(), nDst}, t.bytes, f.nonTemporal);
}

/// The next tile of the lane, or `count` when there is none left.
uint32_t claim(std::atomic<uint64_t>& word, uint32_t call, uint32_t count) noexcept {
  uint64_t seen = word.load(std::memory_order_acquire);
  for (;;) {
    const bool begun = static_cast<uint32_t>(seen >> 32) == call;
    const uint32_t next = begun ? static_cast<uint32_t>(seen) : 0;
    if (next >= count) return count;
    if (word.compare_exchange_weak(seen, uint64_t{call} << 32 | (next + 1),
                                   std::memory_order_acq_rel, std::memory_order_acquire))
      return next;
  }
}

void claimWorker(void* context, int worker) noexcept {
  auto& f = *static_cast<Flight*>(context);
  const TileMap tiles(f.shape, chunkOf(f, f.nRanks * f.workers()), f.scratchOf(worker));
  const int number = worker / f.config.threads;
  const Span span = shareOf(tiles.size(), number, f.config.channels);
  const auto count = static_cast<uint32_t>(span.last - span.first);
  Lane& lane = f.layout->lane(number);
  uint32_t mine = 0;
  while (!f.broken()) {
    const uint32_t next = claim(lane.claim, f.number, count);
    if (next >= count) break;
    doTile(f, tiles[span.first + next]);
    ++mine;
  }
  if (mine > 0) add(lane.done, mine);
}

/// The tiles of the span that read peers' memory, or those that read this rank's own only. Ranks
/// start at different tiles, so that not all of them read the same peer at once.
void pullTiles(const Flight& f, const TileMap& tiles, Span span, bool peers) noexcept {
  const uint64_t count = span.last - span.first;
  for (uint64_t i = 0; i < count && !f.broken(); ++i) {
    const Tile t = tiles[span.first + (i + static_cast<uint64_t>(f.rank) + 1) % count];
    const bool ownOnly = t.src.count == 1 && t.src.first == f.rank;
    if (ownOnly != peers) doTile(f, t);
  }
}

/// Own memory that peers read too comes first, else it comes last, while the peers still read.
void pullWorker(void* context, int worker) noexcept {
  auto& f = *static_cast<Flight*>(context);
  const TileMap tiles(f.shape, f.rank, chunkOf(f, f.workers()), f.scratchOf(worker));
  const Span span = shareOf(tiles.size(), worker, f.workers());
  const bool ownFirst = sharesOwnPart(f.shape.collective);
  if (ownFirst) pullTiles(f, tiles, span, false);
  pullTiles(f, tiles, span, true);
  if (f.pulling.fetch_sub(1, std::memory_order_acq_rel) == 1 && !f.broken())
    raise(f.layout->finished(f.rank), f.number);
  if (!ownFirst) pullTiles(f, tiles, span, false);
}

}  // namespace

void countClaimed(Flight& f) noexcept {
  const TileMap tiles(f.shape, chunkOf(f, f.nRanks * f.workers()), f.scratchOf(0));
  for (int i = 0; i < f.config.channels; ++i) {
    const Span span = shareOf(tiles.size(), i, f.config.channels);
    f.doneBase[static_cast<size_t>(i)] += static_cast<uint32_t>(span.last - span.first);
  }
}

bool isClaimedDone(const Flight& f) noexcept {
  for (int i = 0; i < f.config.channels; ++i)
    if (!reached(f.layout->lane(i).done.value.load(std::memory_order_acquire),
                 f.doneBase[static_cast<size_t>(i)]))
      return false;
  return true;
}

bool runClaimed(Flight& f, WorkerPool& pool) noexcept {
  pool.run(f.workers(), claimWorker, &f);
  for (int i = 0; i < f.config.channels; ++i)
    if (!waitFor(f.layout->lane(i).done, f.doneBase[static_cast<size_t>(i)], f.rules)) return false;
  return !f.broken();
}

bool pullsFrom(const CallShape& s, int reader, int owner) noexcept {
  switch (s.collective) {
    case Collective::kBroadcast:
    case Collective::kScatter:
      return owner == s.root;
    case Collective::kReduce:
    case Collective::kGather:
      return reader == s.root;
    default:
      return true;
  }
}

bool runPulled(Flight& f, WorkerPool& pool) noexcept {
  f.pulling.store(f.workers(), std::memory_order_relaxed);
  pool.run(f.workers(), pullWorker, &f);
  for (int r = 0; r < f.nRanks; ++r)
    if (r != f.rank && pullsFrom(f.shape, r, f.rank) &&
        !waitFor(f.layout->finished(r), f.number, f.rules))
      return false;
  return !f.broken();
}

void combine(const Flight& f, bool reduces, std::span<const void* const> src,
             std::span<void* const> dst, uint64_t bytes, bool stream) noexcept {
  if (dst.empty()) return;
  if (!reduces) {
    copyBytes(dst.data(), static_cast<int>(dst.size()), src[0], bytes, stream);
    return;
  }
  Reduction r;
  r.src = src.data();
  r.nSrc = static_cast<int>(src.size());
  r.dst = dst.data();
  r.nDst = static_cast<int>(dst.size());
  r.dtype = f.call->dtype;
  r.op = f.call->op;
  r.count = bytes / f.shape.elementBytes;
  r.scale = r.op == ReduceOp::kScaledSum ? f.scale.data() : nullptr;
  r.divisor = r.op == ReduceOp::kAvg ? f.nRanks : 0;
  r.nonTemporal = stream;
  reduce(r);
}

}  // namespace autoccl
