#include "plan/tiles.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace autoccl {
namespace {

constexpr Collective kAll[] = {
    Collective::kAllReduce,  Collective::kAllGather,      Collective::kReduceScatter,
    Collective::kBroadcast,  Collective::kReduce,         Collective::kAllToAll,
    Collective::kGather,     Collective::kScatter,        Collective::kAllToAllv,
    Collective::kAllGatherv, Collective::kReduceScatterv, Collective::kSendRecv};

using Buffers = std::vector<std::vector<uint64_t>>;  // one a rank, in elements of 8 bytes

// A call with its arguments, inputs and what MPI's definition says of the outputs. Written
// from the definitions, not from the tiles.
struct Case {
  CallShape shape;
  std::vector<size_t> counts, displs;
  std::vector<std::vector<size_t>> sendCounts, sendDispls, recvCounts, recvDispls;
  std::vector<AllToAllvRow> rows;
  Buffers send, want;
};

uint64_t input(int rank, size_t i) {
  return (uint64_t{1} << (4 * rank)) + i * 0x9e3779b97f4a7c15;
}

void fill(Case& c, const std::vector<size_t>& sendLength, const std::vector<size_t>& recvLength) {
  const auto n = static_cast<size_t>(c.shape.nRanks);
  c.send.resize(n);
  c.want.resize(n);
  for (size_t r = 0; r < n; ++r) {
    for (size_t i = 0; i < sendLength[r]; ++i) c.send[r].push_back(input(int(r), i));
    c.want[r].assign(recvLength[r], 0);
  }
}

uint64_t sumAt(const Case& c, size_t i) {
  uint64_t sum = 0;
  for (const auto& s : c.send) sum += s[i];
  return sum;
}

Case evenCase(Collective collective, int n, size_t count, int root) {
  Case c;
  c.shape = {collective, n, root, (root + 1) % n, count * 8, 8};
  const auto nn = static_cast<size_t>(n), ro = static_cast<size_t>(root);
  const bool blocksOut = collective == Collective::kAllGather ||
                         collective == Collective::kAllToAll || collective == Collective::kGather;
  const bool blocksIn = collective == Collective::kReduceScatter ||
                        collective == Collective::kAllToAll || collective == Collective::kScatter;
  fill(c, std::vector<size_t>(nn, blocksIn ? nn * count : count),
       std::vector<size_t>(nn, blocksOut ? nn * count : count));
  for (size_t r = 0; r < nn; ++r)
    for (size_t i = 0; i < c.want[r].size(); ++i) {
      const size_t block = count ? i / count : 0, at = count ? i % count : 0;
      switch (collective) {
        case Collective::kAllReduce:
          c.want[r][i] = sumAt(c, i);
          break;
        case Collective::kReduce:
          c.want[r][i] = r == ro ? sumAt(c, i) : 0;
          break;
        case Collective::kBroadcast:
          c.want[r][i] = c.send[ro][i];
          break;
        case Collective::kAllGather:
          c.want[r][i] = c.send[block][at];
          break;
        case Collective::kReduceScatter:
          c.want[r][i] = sumAt(c, r * count + i);
          break;
        case Collective::kAllToAll:
          c.want[r][i] = c.send[block][r * count + at];
          break;
        case Collective::kGather:
          c.want[r][i] = r == ro ? c.send[block][at] : 0;
          break;
        case Collective::kScatter:
          c.want[r][i] = c.send[ro][r * count + i];
          break;
        default:
          c.want[r][i] = r == (ro + 1) % nn ? c.send[ro][i] : 0;
          break;  // SendRecv
      }
    }
  return c;
}

Case blocksCase(Collective collective, int n, std::mt19937_64& random) {
  Case c;
  c.shape = {collective, n, 0, 0, 0, 8};
  const auto nn = static_cast<size_t>(n);
  size_t total = 0;
  for (size_t r = 0; r < nn; ++r) {
    c.counts.push_back(random() % 40 % (random() % 3 ? 40 : 1));
    c.displs.push_back(total);
    total += c.counts.back();
  }
  const std::vector<size_t> whole(nn, total);
  const bool gathers = collective == Collective::kAllGatherv;
  fill(c, gathers ? c.counts : whole, gathers ? whole : c.counts);
  for (size_t r = 0; r < nn; ++r)
    for (size_t q = 0; q < nn; ++q)
      for (size_t i = 0; i < c.counts[q]; ++i) {
        if (gathers) c.want[r][c.displs[q] + i] = c.send[q][i];
        if (!gathers && q == r) c.want[r][i] = sumAt(c, c.displs[r] + i);
      }
  return c;
}

Case pairsCase(int n, std::mt19937_64& random) {
  Case c;
  c.shape = {Collective::kAllToAllv, n, 0, 0, 0, 8};
  const auto nn = static_cast<size_t>(n);
  c.sendCounts.assign(nn, std::vector<size_t>(nn));
  c.sendDispls = c.recvCounts = c.recvDispls = c.sendCounts;
  std::vector<size_t> sendLength(nn), recvLength(nn);
  for (size_t r = 0; r < nn; ++r)
    for (size_t q = 0; q < nn; ++q) {
      c.sendCounts[r][q] = c.recvCounts[q][r] = random() % 20 % (random() % 3 ? 20 : 1);
      c.sendDispls[r][q] = sendLength[r];
      sendLength[r] += c.sendCounts[r][q] + 1;  // with gaps
    }
  for (size_t q = 0; q < nn; ++q)
    for (size_t r = 0; r < nn; ++r) {
      c.recvDispls[q][r] = recvLength[q];
      recvLength[q] += c.recvCounts[q][r] + 2;
    }
  fill(c, sendLength, recvLength);
  for (size_t r = 0; r < nn; ++r)
    for (size_t q = 0; q < nn; ++q)
      for (size_t i = 0; i < c.sendCounts[r][q]; ++i)
        c.want[q][c.recvDispls[q][r] + i] = c.send[r][c.sendDispls[r][q] + i];
  return c;
}

Case makeCase(Collective collective, int n, std::mt19937_64& random) {
  if (collective == Collective::kAllToAllv) return pairsCase(n, random);
  if (uneven(collective)) return blocksCase(collective, n, random);
  return evenCase(collective, n, random() % 60, int(random() % uint64_t(n)));
}

// Points the shape at the case's own arrays (after the case has its final address).
CallShape shapeOf(Case& c) {
  CallShape s = c.shape;
  s.counts = c.counts.data();
  s.displs = c.displs.data();
  c.rows.clear();
  for (size_t r = 0; r < c.sendCounts.size(); ++r)
    c.rows.push_back({c.sendCounts[r].data(), c.sendDispls[r].data(), c.recvCounts[r].data(),
                      c.recvDispls[r].data()});
  s.rows = c.rows.data();
  return s;
}

void execute(const Tile& t, const Buffers& send, Buffers& recv) {
  ASSERT_GT(t.bytes, 0u);
  ASSERT_TRUE(t.reduce || t.src.count == 1);
  for (uint64_t i = 0; i < t.bytes / 8; ++i) {
    uint64_t sum = 0;
    for (int s = 0; s < t.src.count; ++s)
      sum += send.at(size_t(t.src.first) + size_t(s)).at(t.srcOffset / 8 + i);
    for (int d = 0; d < t.dst.count; ++d) {
      uint64_t& out = recv.at(size_t(t.dst.first) + size_t(d)).at(t.dstOffset / 8 + i);
      EXPECT_EQ(out, 0u) << "written twice";
      out = sum;
    }
  }
}

Buffers zerosLike(const Buffers& b) {
  Buffers z;
  for (const auto& v : b) z.emplace_back(v.size(), 0);
  return z;
}

TEST(Tiles, AllTilesTogetherMakeEveryResultOnce) {
  std::mt19937_64 random(1);
  for (const Collective collective : kAll)
    for (int n = 1; n <= 9; ++n)
      for (const uint64_t chunk : {0, 64, 200, 1 << 20}) {
        Case c = makeCase(collective, n, random);
        std::vector<uint64_t> scratch(TileMap::scratchWords(collective, n));
        const TileMap map(shapeOf(c), chunk, scratch);
        Buffers got = zerosLike(c.want);
        for (uint64_t i = 0; i < map.size(); ++i) execute(map[i], c.send, got);
        EXPECT_EQ(got, c.want) << toText(collective) << " n=" << n << " chunk=" << chunk;
      }
}

TEST(Tiles, WhatEachRankPullsMakesItsOwnResult) {
  std::mt19937_64 random(2);
  for (const Collective collective : kAll)
    for (int n = 1; n <= 9; ++n) {
      Case c = makeCase(collective, n, random);
      const CallShape shape = shapeOf(c);
      std::vector<uint64_t> scratch(TileMap::scratchWords(collective, n));
      Buffers got = zerosLike(c.want);
      for (int r = 0; r < n; ++r) {
        const TileMap map(shape, r, 128, scratch);
        for (uint64_t i = 0; i < map.size(); ++i) {
          EXPECT_EQ(map[i].dst.first, r);
          EXPECT_EQ(map[i].dst.count, 1);
          execute(map[i], c.send, got);
        }
      }
      EXPECT_EQ(got, c.want) << toText(collective) << " n=" << n;
    }
}

TEST(Tiles, ABarrierHasNone) {
  EXPECT_EQ(TileMap({Collective::kBarrier, 4, 0, 0, 100, 4}, 64).size(), 0u);
}

TEST(Tiles, OffsetsBeyondFourGiBAreExact) {
  const TileMap map({Collective::kAllGather, 4, 0, 0, uint64_t{3} << 30, 4}, 1 << 20);
  const Tile last = map[map.size() - 1];
  EXPECT_EQ(last.src.first, 3);
  EXPECT_EQ(last.srcOffset, (uint64_t{3} << 30) - (1 << 20));
  EXPECT_EQ(last.dstOffset, (uint64_t{12} << 30) - (1 << 20));
}

TEST(Tiles, AFairChunkGivesEveryWorkerATile) {
  for (const uint64_t bytes : {0, 1, 63, 64, 65, 1000, 65536, 1 << 20})
    for (int workers = 1; workers <= 9; ++workers) {
      const uint64_t chunk = fairChunk(bytes, workers, 64 << 10);
      EXPECT_EQ(chunk % 64, 0u);
      EXPECT_LE(chunk, 64u << 10);
      EXPECT_GE(chunk, 64u);
      if (bytes >= 64u * uint64_t(workers) * uint64_t(workers)) {
        const CallShape shape{Collective::kAllReduce, workers, 0, 0, bytes, 1};
        EXPECT_GE(TileMap(shape, chunk).size(), uint64_t(workers));
      }
    }
}

}  // namespace
}  // namespace autoccl
