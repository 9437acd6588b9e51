// Ordinary memory through the segment: copy in, reduce, copy out, in rounds.
//
// A round is one layer of tiles (one tile of each piece). Worker w of every rank does the rounds
// w, w + W, ..., with slots and flags of its own, kStageSlots (K) rounds deep.
//
//   pull:   for i in 0..R:  copy in round i+1;  raise in;  wait in(i) of all;   take what is mine
//   split:  for i in 0..R+1: copy in round i;   raise in;  wait in(i-1) of all;  reduce my share of
//   i-1,
//                            raise out;  wait out(i-2) of all;  fetch the others' shares of i-2
//
// Slots need no flag of their own to be used again. pull: who has raised in(i+1) has taken round
// i-1, so slot (i+1) mod 4, last used by round i-3, is free. split: copying in round i follows
// out(i-3) of all, who have then read the slots of round i-4; reducing round i-1 follows in(i-1) of
// all, who have then fetched round i-5.
#include <algorithm>
#include <cstring>

#include "engine/flight.h"
#include "engine/kernels.h"

namespace autoccl {
namespace {

constexpr uint64_t kLine = 64;

/// Tiles that one rank may bring into one round.
uint64_t tilesPerSlot(const CallShape& s) noexcept {
  switch (s.collective) {
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kScatter:
    case Collective::kAllToAllv:
    case Collective::kAllGatherv:
    case Collective::kReduceScatterv:
      return static_cast<uint64_t>(s.nRanks);
    default:
      return 1;
  }
}

/// Tiles of one round: a layer for the even collectives, whose tiles come interleaved.
uint64_t tilesPerRound(const CallShape& s) noexcept {
  const auto n = static_cast<uint64_t>(s.nRanks);
  switch (s.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
    case Collective::kBroadcast:
      return 1;
    case Collective::kAllToAll:
      return n * n;
    default:
      return n;
  }
}

class Rounds {
 public:
  /// Slots at `slots` of every rank; `tileBytes` as cut by the map.
  Rounds(const Flight& f, const TileMap& tiles, uint64_t tileBytes) noexcept
      : f_(f), tiles_(tiles), tileBytes_(tileBytes), perRound_(tilesPerRound(f.shape)) {}

  [[nodiscard]] uint64_t count() const noexcept {
    return (tiles_.size() + perRound_ - 1) / perRound_;
  }

  /// Copies this rank's part of the round into its slot, but for what only it needs itself.
  void copyIn(uint64_t round, std::byte* slot, bool split) const noexcept {
    forEach(round, [&](const Tile& t, const auto& placeOf) {
      const bool onlyMine = t.dst.count == 1 && t.dst.first == f_.rank && !split;
      if (!holds(t.src, f_.rank) || onlyMine) return;
      const std::byte* from = f_.send[static_cast<size_t>(f_.rank)] + t.srcOffset;
      std::byte* to = slot + placeOf(f_.rank);
      if (!split) {
        std::memcpy(to, from, t.bytes);
        return;
      }
      const auto [first, last] = share(t, f_.rank);
      std::memcpy(to, from, first);
      std::memcpy(to + last, from + last, t.bytes - last);
    });
  }

  /// Takes everything that goes to this rank out of the slots.
  template <class SlotOf>
  void pull(uint64_t round, const SlotOf& slotOf) const noexcept {
    forEach(round, [&](const Tile& t, const auto& placeOf) {
      if (!holds(t.dst, f_.rank)) return;
      void* to = f_.recv[static_cast<size_t>(f_.rank)] + t.dstOffset;
      combineAt(t, 0, t.bytes, {&to, 1}, slotOf, placeOf);
    });
  }

  template <class SlotOf>
  void reduceShare(uint64_t round, std::byte* out, const SlotOf& slotOf) const noexcept {
    forEach(round, [&](const Tile& t, const auto& placeOf) {
      const auto [first, last] = share(t, f_.rank);
      std::array<void*, 2> to;
      size_t n = 0;
      if (holds(t.dst, f_.rank))
        to[n++] = f_.recv[static_cast<size_t>(f_.rank)] + t.dstOffset + first;
      if (t.dst.count > 1 || n == 0) to[n++] = out;
      combineAt(t, first, last, {to.data(), n}, slotOf, placeOf);
    });
  }

  template <class OutOf>
  void fetch(uint64_t round, const OutOf& outOf) const noexcept {
    forEach(round, [&](const Tile& t, const auto&) {
      if (!holds(t.dst, f_.rank)) return;
      for (int i = 1; i < f_.nRanks; ++i) {
        const int r = (f_.rank + i) % f_.nRanks;
        const auto [first, last] = share(t, r);
        void* to = f_.recv[static_cast<size_t>(f_.rank)] + t.dstOffset + first;
        if (first < last) copyBytes(&to, 1, outOf(r), last - first, f_.nonTemporal);
      }
    });
  }

 private:
  struct Range {
    uint64_t first, last;
  };
  [[nodiscard]] Range share(const Tile& t, int rank) const noexcept {
    const auto n = static_cast<uint64_t>(f_.nRanks), r = static_cast<uint64_t>(rank);
    const uint64_t part = roundUp((t.bytes + n - 1) / n, kLine);
    return {std::min(part * r, t.bytes), std::min(part * (r + 1), t.bytes)};
  }

  /// Calls visit(tile, placeOf) for each tile; placeOf(rank) is where that source put it in its
  /// slot.
  template <class Visit>
  void forEach(uint64_t round, const Visit& visit) const noexcept {
    std::array<uint16_t, kMaxRanks> used{};
    const uint64_t first = round * perRound_, last = std::min(first + perRound_, tiles_.size());
    for (uint64_t i = first; i < last; ++i) {
      const Tile t = tiles_[i];
      const uint64_t place =
          t.src.count == 1 ? used[static_cast<size_t>(t.src.first)]++ : i - first;
      visit(t, [&](int) { return place * tileBytes_; });
    }
  }

  template <class SlotOf, class PlaceOf>
  void combineAt(const Tile& t, uint64_t first, uint64_t last, std::span<void* const> to,
                 const SlotOf& slotOf, const PlaceOf& placeOf) const noexcept {
    if (first == last) return;
    std::array<const void*, kMaxRanks> src;
    size_t n = 0;
    for (int r = t.src.first; r < t.src.first + t.src.count; ++r)
      src[n++] = r == f_.rank ? f_.send[static_cast<size_t>(r)] + t.srcOffset + first
                              : slotOf(r) + placeOf(r) + first;
    if (!t.reduce && to[0] == src[0]) return;
    combine(f_, t.reduce, {src.data(), n}, to, last - first, f_.nonTemporal && !t.reduce);
  }

  const Flight& f_;
  const TileMap& tiles_;
  uint64_t tileBytes_;
  uint64_t perRound_;
};

struct Geometry {
  uint64_t tileBytes, slotBytes, outBytes;
  uint64_t area;  // of one worker inside a rank's stage
};

Geometry geometryOf(const Flight& f, bool split) noexcept {
  const uint64_t area = f.layout->stageBytes() / static_cast<uint64_t>(f.workers()) / kLine * kLine;
  const uint64_t most = area / kStageSlots / (split ? 2 : 1) / kLine * kLine;
  const uint64_t perSlot = tilesPerSlot(f.shape);
  const uint64_t tile =
      std::max(std::min<uint64_t>(f.config.chunk, most) / perSlot / kLine * kLine, kLine);
  return {tile, tile * perSlot, tile, area};
}

bool waitAll(const Flight& f, int worker, Flag StageFlags::*flag, uint32_t target) noexcept {
  for (int i = 1; i < f.nRanks; ++i)
    if (!waitFor(f.layout->stageFlags((f.rank + i) % f.nRanks, worker).*flag, target, f.rules))
      return false;
  return true;
}

/// One worker's rounds on this rank.
struct Lanework {
  Flight& f;
  int worker;
  Geometry g;
  const Rounds& rounds;
  uint64_t mine;  // rounds of this worker

  [[nodiscard]] uint64_t roundOf(uint64_t i) const noexcept {
    return static_cast<uint64_t>(worker) + i * static_cast<uint64_t>(f.workers());
  }
  [[nodiscard]] std::byte* area(int rank) const noexcept {
    return f.layout->stage(rank) + static_cast<uint64_t>(worker) * g.area;
  }
  [[nodiscard]] std::byte* inSlot(int rank, uint64_t i) const noexcept {
    return area(rank) + i % kStageSlots * g.slotBytes;
  }
  [[nodiscard]] std::byte* outSlot(int rank, uint64_t i) const noexcept {
    return area(rank) + kStageSlots * g.slotBytes + i % kStageSlots * g.outBytes;
  }
  [[nodiscard]] uint32_t in(uint64_t i) const noexcept {
    return f.inBase[static_cast<size_t>(worker)] + static_cast<uint32_t>(i) + 1;
  }
  [[nodiscard]] uint32_t out(uint64_t i) const noexcept {
    return f.outBase[static_cast<size_t>(worker)] + static_cast<uint32_t>(i) + 1;
  }
  void copyIn(uint64_t i, bool split) const noexcept {
    if (i >= mine) return;
    rounds.copyIn(roundOf(i), inSlot(f.rank, i), split);
    raise(f.layout->stageFlags(f.rank, worker).in, in(i));
  }

  [[nodiscard]] bool pull() const noexcept {
    copyIn(0, false);
    for (uint64_t i = 0; i < mine; ++i) {
      copyIn(i + 1, false);
      if (!waitAll(f, worker, &StageFlags::in, in(i))) return false;
      rounds.pull(roundOf(i), [&](int rank) { return inSlot(rank, i); });
    }
    return true;
  }

  [[nodiscard]] bool split() const noexcept {
    for (uint64_t step = 0; step < mine + 2; ++step) {
      copyIn(step, true);
      if (step >= 1 && step - 1 < mine) {
        const uint64_t i = step - 1;
        if (!waitAll(f, worker, &StageFlags::in, in(i))) return false;
        rounds.reduceShare(roundOf(i), outSlot(f.rank, i),
                           [&](int rank) { return inSlot(rank, i); });
        raise(f.layout->stageFlags(f.rank, worker).out, out(i));
      }
      if (step >= 2) {
        const uint64_t i = step - 2;
        if (!waitAll(f, worker, &StageFlags::out, out(i))) return false;
        rounds.fetch(roundOf(i), [&](int rank) { return outSlot(rank, i); });
      }
    }
    return true;
  }
};

void stagedWorker(Flight& f, int worker, bool split) noexcept {
  const Geometry g = geometryOf(f, split);
  const TileMap tiles(f.shape, g.tileBytes, f.scratchOf(worker));
  const Rounds rounds(f, tiles, g.tileBytes);
  const auto w = static_cast<uint64_t>(worker), all = static_cast<uint64_t>(f.workers());
  const uint64_t mine = rounds.count() > w ? (rounds.count() - w + all - 1) / all : 0;
  const Lanework work{f, worker, g, rounds, mine};
  if (!(split ? work.split() : work.pull())) f.failed.store(true, std::memory_order_relaxed);
  f.inBase[static_cast<size_t>(worker)] += static_cast<uint32_t>(mine);
  if (split) f.outBase[static_cast<size_t>(worker)] += static_cast<uint32_t>(mine);
}

void pullRounds(void* f, int worker) noexcept {
  stagedWorker(*static_cast<Flight*>(f), worker, false);
}
void splitRounds(void* f, int worker) noexcept {
  stagedWorker(*static_cast<Flight*>(f), worker, true);
}

}  // namespace

bool runStaged(Flight& f, WorkerPool& pool, bool split) noexcept {
  const bool canSplit =
      f.call->collective == Collective::kAllReduce || f.call->collective == Collective::kReduce;
  pool.run(f.workers(), split && canSplit ? splitRounds : pullRounds, &f);
  return !f.broken();
}

}  // namespace autoccl
