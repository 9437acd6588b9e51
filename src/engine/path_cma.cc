// Ordinary memory by the kernel's hand: process_vm_readv and _writev (runCma).
//
// A reducing tile is dealt to one rank, which reads the peers' parts into cache-sized scratch,
// reduces and writes the result to whoever receives it. A copy is read by its receiver straight
// into place; of a rooted collective the root does every n-th layer, so that its core works too.
#include <algorithm>
#include <cstring>

#include "engine/flight.h"
#include "transport/cma.h"

namespace autoccl {
namespace {

constexpr uint64_t kLine = 64;

/// One worker's share of a call on this rank.
class CmaWork {
 public:
  CmaWork(Flight& f, int worker) noexcept
      : f_(f), worker_(worker), scratch_(f.scratch + static_cast<size_t>(worker) * kScratchBytes) {}

  bool run() noexcept { return reduces(f_.shape.collective) ? reduceTiles() : copyTiles(); }

 private:
  /// A tile that is reduced must find room in scratch, with the peers' parts beside each other.
  [[nodiscard]] uint64_t tileBytes() const noexcept {
    const Collective c = f_.shape.collective;
    const uint64_t room = kScratchBytes / static_cast<uint64_t>(f_.nRanks) / kLine * kLine;
    const uint64_t chunk = reduces(c) ? std::min<uint64_t>(f_.config.chunk, room) : f_.config.chunk;
    const bool dealt = reduces(c) || rooted(c);  // among the ranks
    return uneven(c) ? chunk
                     : fairChunk(f_.shape.bytes, f_.workers() * (dealt ? f_.nRanks : 1), chunk);
  }

  bool reduceTiles() noexcept {
    const TileMap tiles(f_.shape, tileBytes(), f_.scratchOf(worker_));
    const auto n = static_cast<uint64_t>(f_.nRanks), all = static_cast<uint64_t>(f_.workers());
    for (uint64_t i = 0; i < tiles.size(); ++i) {
      if (i / n % all != static_cast<uint64_t>(worker_)) continue;
      const Tile t = tiles[i];
      const bool scattered = t.dst.count == 1 && f_.shape.collective != Collective::kReduce;
      const int doer = scattered ? t.dst.first : static_cast<int>(i % n);
      if (doer == f_.rank && !reduceTile(t)) return false;
    }
    return true;
  }

  bool reduceTile(const Tile& t) noexcept {
    if (f_.broken()) return false;
    const auto me = static_cast<size_t>(f_.rank);
    std::array<const void*, kMaxRanks> src;
    std::byte* room = scratch_;
    for (int r = 0; r < f_.nRanks; ++r) {
      const auto i = static_cast<size_t>(r);
      src[i] = r == f_.rank ? f_.send[me] + t.srcOffset : room;
      if (r == f_.rank) continue;
      if (!cmaRead(f_.pid[i], f_.peerSend[i] + t.srcOffset, room, t.bytes)) return false;
      room += t.bytes;
    }
    void* result = holds(t.dst, f_.rank) ? f_.recv[me] + t.dstOffset : room;
    combine(f_, true, {src.data(), static_cast<size_t>(f_.nRanks)}, {&result, 1}, t.bytes, false);
    for (int k = 0; k < t.dst.count; ++k) {
      const auto i = static_cast<size_t>(t.dst.first) + static_cast<size_t>(k);
      if (i != me && !cmaWrite(f_.pid[i], f_.peerRecv[i] + t.dstOffset, result, t.bytes))
        return false;
    }
    return true;
  }

  bool copyTiles() noexcept {
    const bool ownFirst = sharesOwnPart(f_.shape.collective);
    if (ownFirst && !copyTo(f_.rank, true)) return false;
    for (int i = 0; i < (rooted(f_.shape.collective) ? f_.nRanks : 1); ++i)
      if (!copyTo((f_.rank + i) % f_.nRanks, false)) return false;
    return ownFirst || copyTo(f_.rank, true);
  }

  /// This worker's share of what reaches rank `to`, as far as this rank has to do it: from its own
  /// memory to its own, or all else. Ranks start at different tiles, hence at different peers.
  bool copyTo(int to, bool own) noexcept {
    const TileMap tiles(f_.shape, to, tileBytes(), f_.scratchOf(worker_));
    const bool isRooted = rooted(f_.shape.collective);
    const uint64_t layer =
        f_.shape.collective == Collective::kGather ? static_cast<uint64_t>(f_.nRanks) : 1;
    const auto n = static_cast<uint64_t>(f_.nRanks), all = static_cast<uint64_t>(f_.workers());
    for (uint64_t k = 0; k < tiles.size(); ++k) {
      const uint64_t i = (k + static_cast<uint64_t>(f_.rank) + 1) % tiles.size();
      const Tile t = tiles[i];
      const int from = t.src.first;
      if (own != (from == f_.rank && to == f_.rank)) continue;
      const int other = from == f_.shape.root ? to : from;  // of the root's peers
      const bool byRoot = i / layer % n == 0;
      const int doer = !isRooted ? to : byRoot ? f_.shape.root : other;
      if (doer != f_.rank || i / layer / n % all != static_cast<uint64_t>(worker_)) continue;
      if (!copyTile(t, from, to)) return false;
    }
    return true;
  }

  bool copyTile(const Tile& t, int from, int to) noexcept {
    if (f_.broken()) return false;
    const auto src = static_cast<size_t>(from), dst = static_cast<size_t>(to);
    if (from == to) {
      void* const target = f_.recv[dst] + t.dstOffset;
      const void* const source = f_.send[src] + t.srcOffset;
      if (target != source) combine(f_, false, {&source, 1}, {&target, 1}, t.bytes, false);
      return true;
    }
    if (to == f_.rank)
      return cmaRead(f_.pid[src], f_.peerSend[src] + t.srcOffset, f_.recv[dst] + t.dstOffset,
                     t.bytes);
    return cmaWrite(f_.pid[dst], f_.peerRecv[dst] + t.dstOffset, f_.send[src] + t.srcOffset,
                    t.bytes);
  }

  Flight& f_;
  const int worker_;
  std::byte* const scratch_;
};

void cmaWorker(void* context, int worker) noexcept {
  auto& f = *static_cast<Flight*>(context);
  if (!CmaWork(f, worker).run()) f.failed.store(true, std::memory_order_relaxed);
}

}  // namespace

bool runCma(Flight& f, WorkerPool& pool) noexcept {
  pool.run(f.workers(), cmaWorker, &f);
  if (f.broken()) return false;
  raise(f.layout->finished(f.rank), f.number);
  for (int r = 0; r < f.nRanks; ++r)  // until then they read and write my buffers
    if (r != f.rank && !waitFor(f.layout->finished(r), f.number, f.rules)) return false;
  return true;
}

}  // namespace autoccl
