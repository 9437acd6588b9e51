// One call under way in one rank: what the paths of src/engine/path_*.cc work on.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/call.h"
#include "engine/layout.h"
#include "engine/worker_pool.h"
#include "plan/tiles.h"
#include "transport/wait.h"

namespace autoccl {

/// Filled by the communicator after the entries are exchanged; read by its workers. One per
/// communicator, used again by every call: nothing in it is allocated per call.
struct Flight {
  const Call* call = nullptr;
  CallShape shape;
  uint64_t nBytes = 0;
  Config config;        // in effect: chunk, lanes and threads after clamping
  uint32_t number = 0;  // of the call in this communicator, from 1
  int rank = 0;
  int nRanks = 1;
  Layout* layout = nullptr;
  WaitRules rules;
  bool nonTemporal = false;  // destinations are large and were not read
  /// Where each rank's buffers are mapped here (the zero path; one's own always), and where they
  /// lie in their owner (the cma path).
  std::array<std::byte*, kMaxRanks> send{};
  std::array<std::byte*, kMaxRanks> recv{};
  std::array<uint64_t, kMaxRanks> peerSend{}, peerRecv{};
  std::array<pid_t, kMaxRanks> pid{};
  std::array<double, kMaxRanks> scale{};
  std::array<AllToAllvRow, kMaxRanks> rows{};
  std::span<uint64_t> tileScratch;  // kMaxWorkers x TileMap::scratchWords
  std::byte* scratch = nullptr;     // kMaxWorkers x kScratchBytes of this rank's own
  /// Tiles of a lane and rounds of a worker before this call; equal on all ranks.
  std::array<uint32_t, kMaxLanes> doneBase{};
  std::array<uint32_t, kMaxWorkers> inBase{}, outBase{};
  std::atomic<bool> failed{false};  // a wait or a copy ended early
  std::atomic<int> pulling{0};      // workers that still read peers' memory

  [[nodiscard]] int workers() const noexcept { return config.channels * config.threads; }
  [[nodiscard]] std::span<uint64_t> scratchOf(int worker) const noexcept {
    const size_t words = TileMap::scratchWords(shape.collective, nRanks);
    return tileScratch.subspan(static_cast<size_t>(worker) * words, words);
  }
  [[nodiscard]] bool broken() const noexcept {
    return failed.load(std::memory_order_relaxed) ||
           layout->control().epoch.load(std::memory_order_acquire) != 0;
  }
};

inline constexpr size_t kScratchBytes = size_t{4} << 20;  // of one worker, on the cma path

/// Combines (or copies) a tile from the given sources, in the given order, into the destinations.
/// A reduction's sources are those of all ranks, in their order. `stream`: stores leave the caches
/// alone.
void combine(const Flight& flight, bool reduces, std::span<const void* const> src,
             std::span<void* const> dst, uint64_t bytes, bool stream) noexcept;

[[nodiscard]] inline bool holds(RankRange range, int rank) noexcept {
  return rank >= range.first && rank < range.first + range.count;
}

/// True if peers read the part of a send buffer that its owner copies for itself. That copy has to
/// come first, while the lines are in its owner's cache: a line that another core reads leaves it.
[[nodiscard]] inline bool sharesOwnPart(Collective c) noexcept {
  return c == Collective::kAllGather || c == Collective::kAllGatherv || c == Collective::kBroadcast;
}

// The paths. Each runs the whole call on this rank, workers included, and returns false if it ended
// early. HOT: no allocation, lock or log; system calls only to wait, to wake and for cma's copies.

/// Every rank claims the next tile of everybody's data and does it straight from the peers' send
/// buffers into all receive buffers. Over when all tiles are done, whoever did them: a rank may
/// find that the others have done everything and gone on (and freed their buffers).
void countClaimed(Flight& flight) noexcept;  // first: adds this call's tiles to doneBase
[[nodiscard]] bool isClaimedDone(const Flight& flight) noexcept;
[[nodiscard]] bool runClaimed(Flight& flight, WorkerPool& pool) noexcept;
/// Every rank pulls all it needs straight from the peers' send buffers, and leaves when its own has
/// been read: from then on those who do not pull from it must not look for it.
[[nodiscard]] bool pullsFrom(const CallShape& shape, int reader, int owner) noexcept;
[[nodiscard]] bool runPulled(Flight& flight, WorkerPool& pool) noexcept;
/// Copy in, reduce, copy out through the segment. `split`: each rank reduces its share of a tile
/// and the others fetch the result; else each reduces all it needs itself.
[[nodiscard]] bool runStaged(Flight& flight, WorkerPool& pool, bool split) noexcept;
/// Reads peers' ordinary memory into scratch, reduces, writes the result into peers' memory.
[[nodiscard]] bool runCma(Flight& flight, WorkerPool& pool) noexcept;

/// The small path: data go in beside the entry and are taken out once all have entered.
[[nodiscard]] bool fitsSmall(const CallShape& shape, uint64_t nBytes) noexcept;
void smallIn(const Flight& flight) noexcept;
void smallOut(const Flight& flight) noexcept;
/// At the end of a call: gets the next call's slot ready to be written.
void askBackSlots(const Flight& flight, bool small) noexcept;

}  // namespace autoccl
