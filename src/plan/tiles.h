// Direct algorithms as dataflow: which bytes of which send buffers make which bytes of which
// receive buffers. No steps, no order: whoever can reach the memory may do any tile.
#pragma once

#include <cstdint>
#include <span>

#include "plan/shape.h"

namespace autoccl {

/// Ranks first … first + count - 1: always one rank or all of them.
struct RankRange {
  int first = 0;
  int count = 0;
};

/// For every byte of the tile: combine the sources (or copy the only one), store into every
/// destination. The offset is the same in all buffers of a side.
struct Tile {
  RankRange src;
  RankRange dst;
  uint64_t srcOffset = 0;  // in the send buffer of each source rank
  uint64_t dstOffset = 0;  // in the receive buffer of each destination rank
  uint64_t bytes = 0;      // > 0
  bool reduce = false;     // combine by the call's operation; else copy
};

/// The tiles of one call by arithmetic: tile i is computed when it is asked for, and nothing is
/// allocated. A call is cut into pieces (one contiguous relation of source to destination; one
/// function per collective in tiles.cc), a piece into tiles of `chunk` bytes.
///
/// Two views. *All* tiles, each done once by any rank (claimed or dealt out). What *one rank
/// receives*, for a rank that pulls everything for itself.
/// In place: in the view of all tiles, a destination range overlaps only sources of its own tile.
/// Ranks that pull for themselves must not store into a buffer that others still read.
/// Source and destination of a copy may be the same address (a block that is already at its
/// place); skip it or store it, as is cheaper.
///
/// Shape: bytes. Even collectives interleave the pieces, so that neighbouring tiles touch different
/// ranks' memory. Thread-compatible, const after construction. operator[] is O(1); O(lg pieces) for
/// the uneven forms, whose table of first tiles stands in `scratch` (scratchWords words, owned by
/// the caller, alive as long as the map).
class TileMap {
 public:
  /// Words of scratch for any view of this collective: 0 for the even ones.
  [[nodiscard]] static size_t scratchWords(Collective collective, int nRanks) noexcept;

  /// All tiles. `chunk` is rounded down to a multiple of 64, and is at least 64.
  TileMap(const CallShape& shape, uint64_t chunk, std::span<uint64_t> scratch = {}) noexcept;
  /// The tiles that `rank` receives, each with that one destination.
  TileMap(const CallShape& shape, int rank, uint64_t chunk,
          std::span<uint64_t> scratch = {}) noexcept;

  [[nodiscard]] uint64_t size() const noexcept { return nTiles_; }
  [[nodiscard]] Tile operator[](uint64_t i) const noexcept;

 private:
  void count(uint64_t chunk) noexcept;
  [[nodiscard]] Tile piece(int j) const noexcept;

  CallShape shape_;
  bool pulled_ = false;  // the view of one rank
  int rank_ = 0;
  int nPieces_ = 0;
  uint64_t chunk_ = 0;
  uint64_t nTiles_ = 0;
  std::span<uint64_t> firstTile_;  // uneven forms: the first tile of each piece, and the end
};

/// The chunk that gives every one of `nWorkers` at least one tile where the message allows it:
/// at most `chunk`, at least 64, a multiple of 64.
[[nodiscard]] uint64_t fairChunk(uint64_t bytes, int nWorkers, uint64_t chunk) noexcept;

}  // namespace autoccl
