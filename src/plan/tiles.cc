#include "plan/tiles.h"

#include <algorithm>

#include "base/error.h"

namespace autoccl {
namespace {

constexpr uint64_t kLine = 64;  // of a cache; a multiple of every element's size

RankRange one(int rank) noexcept {
  return {rank, 1};
}
RankRange all(const CallShape& s) noexcept {
  return {0, s.nRanks};
}

// ---- one function per collective: piece p of the view of all tiles ----

Tile allReduce(const CallShape& s, int) noexcept {
  return {all(s), all(s), 0, 0, s.bytes, true};
}
Tile reduceToRoot(const CallShape& s, int) noexcept {
  return {all(s), one(s.root), 0, 0, s.bytes, true};
}
Tile broadcast(const CallShape& s, int) noexcept {
  return {one(s.root), all(s), 0, 0, s.bytes, false};
}
Tile sendRecv(const CallShape& s, int) noexcept {
  return {one(s.root), one(s.peer), 0, 0, s.bytes, false};
}
Tile allGather(const CallShape& s, int from) noexcept {
  return {one(from), all(s), 0, from * s.bytes, s.bytes, false};
}
Tile reduceScatter(const CallShape& s, int to) noexcept {
  return {all(s), one(to), to * s.bytes, 0, s.bytes, true};
}
Tile gather(const CallShape& s, int from) noexcept {
  return {one(from), one(s.root), 0, from * s.bytes, s.bytes, false};
}
Tile scatter(const CallShape& s, int to) noexcept {
  return {one(s.root), one(to), to * s.bytes, 0, s.bytes, false};
}
Tile allToAll(const CallShape& s, int p) noexcept {
  const int from = p / s.nRanks, to = p % s.nRanks;
  return {one(from), one(to), to * s.bytes, from * s.bytes, s.bytes, false};
}
Tile allGatherv(const CallShape& s, int from) noexcept {
  return {one(from), all(s), 0, s.displs[from] * s.elementBytes, s.counts[from] * s.elementBytes,
          false};
}
Tile reduceScatterv(const CallShape& s, int to) noexcept {
  size_t before = 0;
  for (int r = 0; r < to; ++r) before += s.counts[r];
  return {all(s), one(to), before * s.elementBytes, 0, s.counts[to] * s.elementBytes, true};
}
Tile allToAllv(const CallShape& s, int p) noexcept {
  const int from = p / s.nRanks, to = p % s.nRanks;
  const AllToAllvRow& sender = s.rows[from];
  return {one(from),
          one(to),
          sender.sendDispls[to] * s.elementBytes,
          s.rows[to].recvDispls[from] * s.elementBytes,
          sender.sendCounts[to] * s.elementBytes,
          false};
}

struct PieceRow {
  Tile (*piece)(const CallShape&, int p) noexcept;
  enum class Number : uint8_t { kNone, kOne, kRanks, kPairs } number;
};
using Number = PieceRow::Number;

constexpr PieceRow kPieceRows[kCollectives] = {
    {allReduce, Number::kOne},    {allGather, Number::kRanks},      {reduceScatter, Number::kRanks},
    {broadcast, Number::kOne},    {reduceToRoot, Number::kOne},     {allToAll, Number::kPairs},
    {gather, Number::kRanks},     {scatter, Number::kRanks},        {allToAllv, Number::kPairs},
    {allGatherv, Number::kRanks}, {reduceScatterv, Number::kRanks}, {sendRecv, Number::kOne},
    {nullptr, Number::kNone}};
static_assert(int(Collective::kBarrier) == kCollectives - 1);

const PieceRow& rowOf(Collective c) noexcept {
  return kPieceRows[static_cast<size_t>(c)];
}

int piecesOf(Collective c, int nRanks) noexcept {
  switch (rowOf(c).number) {
    case Number::kNone:
      return 0;
    case Number::kOne:
      return 1;
    case Number::kRanks:
      return nRanks;
    case Number::kPairs:
      return nRanks * nRanks;
  }
  return 0;
}

// Pieces that reach one rank: all of them where every rank is a destination, else its own share.
int piecesTo(const CallShape& s, int rank) noexcept {
  switch (s.collective) {
    case Collective::kReduceScatter:
    case Collective::kReduceScatterv:
    case Collective::kScatter:
      return 1;
    case Collective::kAllToAll:
    case Collective::kAllToAllv:
      return s.nRanks;
    case Collective::kReduce:
    case Collective::kGather:
      return rank == s.root ? piecesOf(s.collective, s.nRanks) : 0;
    case Collective::kSendRecv:
      return rank == s.peer ? 1 : 0;
    default:
      return piecesOf(s.collective, s.nRanks);
  }
}

// The number, among all pieces, of the j-th piece that reaches `rank`.
int pieceTo(const CallShape& s, int rank, int j) noexcept {
  switch (s.collective) {
    case Collective::kReduceScatter:
    case Collective::kReduceScatterv:
    case Collective::kScatter:
      return rank;
    case Collective::kAllToAll:
    case Collective::kAllToAllv:
      return j * s.nRanks + rank;
    default:
      return j;
  }
}

uint64_t tilesIn(uint64_t bytes, uint64_t chunk) noexcept {
  return bytes / chunk + (bytes % chunk != 0);
}

uint64_t wholeLines(uint64_t chunk) noexcept {
  return std::max(chunk & ~(kLine - 1), kLine);
}

}  // namespace

size_t TileMap::scratchWords(Collective c, int nRanks) noexcept {
  return uneven(c) ? static_cast<size_t>(piecesOf(c, nRanks)) + 1 : 0;
}

TileMap::TileMap(const CallShape& shape, uint64_t chunk, std::span<uint64_t> scratch) noexcept
    : shape_(shape), nPieces_(piecesOf(shape.collective, shape.nRanks)), firstTile_(scratch) {
  count(chunk);
}

TileMap::TileMap(const CallShape& shape, int rank, uint64_t chunk,
                 std::span<uint64_t> scratch) noexcept
    : shape_(shape),
      pulled_(true),
      rank_(rank),
      nPieces_(piecesTo(shape, rank)),
      firstTile_(scratch) {
  count(chunk);
}

void TileMap::count(uint64_t chunk) noexcept {
  chunk_ = wholeLines(chunk);
  if (!uneven(shape_.collective)) {
    nTiles_ = static_cast<uint64_t>(nPieces_) * tilesIn(shape_.bytes, chunk_);
    return;
  }
  ACCL_CHECK(firstTile_.size() > static_cast<size_t>(nPieces_));
  for (int j = 0; j < nPieces_; ++j) {
    firstTile_[static_cast<size_t>(j)] = nTiles_;
    nTiles_ += tilesIn(piece(j).bytes, chunk_);
  }
  firstTile_[static_cast<size_t>(nPieces_)] = nTiles_;
}

Tile TileMap::piece(int j) const noexcept {
  if (!pulled_) return rowOf(shape_.collective).piece(shape_, j);
  Tile t = rowOf(shape_.collective).piece(shape_, pieceTo(shape_, rank_, j));
  t.dst = one(rank_);
  return t;
}

Tile TileMap::operator[](uint64_t i) const noexcept {
  const auto pieces = static_cast<uint64_t>(nPieces_);
  uint64_t j = i % pieces, k = i / pieces;
  if (uneven(shape_.collective)) {
    const auto end = firstTile_.begin() + nPieces_ + 1;
    j = static_cast<uint64_t>(std::upper_bound(firstTile_.begin(), end, i) - firstTile_.begin()) -
        1;
    k = i - firstTile_[j];
  }
  Tile t = piece(static_cast<int>(j));
  const uint64_t at = k * chunk_;
  t.srcOffset += at;
  t.dstOffset += at;
  t.bytes = std::min(chunk_, t.bytes - at);
  return t;
}

uint64_t fairChunk(uint64_t bytes, int nWorkers, uint64_t chunk) noexcept {
  const uint64_t share = tilesIn(bytes, static_cast<uint64_t>(std::max(nWorkers, 1)));
  return std::min(wholeLines(chunk), std::max((share + kLine - 1) & ~(kLine - 1), kLine));
}

}  // namespace autoccl
