#include "edge/nccl/cost_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "edge/nccl/chunk_rule.h"

namespace autoccl::nccl {
namespace {

CostRows rows(std::vector<float>& table) {
  return reinterpret_cast<CostRows>(table.data());
}

TEST(CostTable, ForcingMakesThePairTheOnlyLeast) {
  std::vector<float> t(21, 5.0F);
  t[0] = 0;  // would tie, and win by its lower index
  CostTable table(rows(t), 7, 3);
  EXPECT_TRUE(table.force({kAlgoNvls, kProtoSimple}));
  EXPECT_EQ(table.least(), (Pair{kAlgoNvls, kProtoSimple}));
  EXPECT_EQ(t[kAlgoNvls * 3 + kProtoSimple], 0);
}

TEST(CostTable, AnImpossibleEntryIsNeverWritten) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {-1.0F, -0.5F, nan}) {
    std::vector<float> t(21, 7.0F);
    t[4] = bad;
    const std::vector<float> before = t;
    CostTable table(rows(t), 7, 3);
    EXPECT_FALSE(table.force({1, 1}));
    EXPECT_EQ(0, std::memcmp(t.data(), before.data(), sizeof(float) * t.size()));
    EXPECT_FALSE(holds(table.possible(), {1, 1}));
  }
}

TEST(CostTable, SmallerLargerAndMissingTablesAreRead) {
  std::vector<float> six(18, 2.0F);
  EXPECT_EQ(CostTable(rows(six), 6, 3).possible(), (PairSet{1} << 18) - 1);
  EXPECT_FALSE(CostTable(rows(six), 6, 3).force({kAlgoPat, kProtoSimple}));
  std::vector<float> wide(9 * 4, 2.0F);  // more rows and columns than we know
  CostTable table(rows(wide), 9, 4);
  EXPECT_TRUE(table.force({kAlgoTree + 1, kProtoSimple}));
  EXPECT_EQ(wide[1 * 4 + 2], 0);  // its own stride
  EXPECT_EQ(CostTable(nullptr, 7, 3).possible(), 0U);
  EXPECT_EQ(CostTable(rows(six), -1, 3).possible(), 0U);
  EXPECT_EQ(CostTable(rows(six), 0, 0).least(), Pair{});
}

TEST(ChunkFor, IsWholeGrainsAndNeverBelowFourKilobytes) {
  for (int proto = 0; proto < kProtos; ++proto)
    for (size_t asked : {1UL, 4095UL, 4096UL, 100000UL, 1UL << 20}) {
      const size_t chunk = chunkFor({kAlgoRing, proto}, asked, 1 << 19);
      EXPECT_GE(chunk, 4096U);
      EXPECT_EQ(chunk % chunkGrain(proto), 0U);
    }
  EXPECT_EQ(chunkFor({kAlgoRing, kProtoSimple}, 0, 1234), 1234U);
}

TEST(ChunkFor, NeverPassesNcclsOwnWhereTheSwitchReduces) {
  EXPECT_EQ(chunkFor({kAlgoNvls, kProtoSimple}, 1 << 20, 128 << 10), 128U << 10);
  EXPECT_EQ(chunkFor({kAlgoNvls, kProtoSimple}, 64 << 10, 128 << 10), 64U << 10);
  EXPECT_EQ(chunkFor({kAlgoRing, kProtoSimple}, 1 << 20, 128 << 10), 1U << 20);
}

}  // namespace
}  // namespace autoccl::nccl
