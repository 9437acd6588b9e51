#include "store/nccl/bench_table.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace autoccl::nccl {
namespace {

// Case 64: layouts with error and #wrong, with and without root, N/A, a launcher's prefix, rows of
// no bytes, a log line inside.
TEST(BenchTable, NewestLayoutHasRanksHostsAndTheCollective) {
  const BenchTable t = readBenchTable(
      "$ ./build/all_reduce_perf -b 1M -e 2M -f 2\n"
      "# Using devices\n"
      "#  Rank  0 Group  0 Pid 10 on h1 device  0 [0x01] NVIDIA H100 80GB HBM3\n"
      "#  Rank  1 Group  0 Pid 11 on h2 device  0 [0x01] NVIDIA H100 80GB HBM3\n"
      "#\n"
      "#                                                              out-of-place                 "
      "      in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)\n"
      "           0             0     float     sum      -1     5.70    0.00    0.00      0     "
      "5.54    0.00    0.00      0\n"
      "     1048576        262144     float     sum      -1    28.15   37.25   65.19      0    "
      "27.52   38.10   66.67    N/A\n"
      "     2097152        524288     float     sum      -1    37.03   56.64   99.11      3    "
      "35.22   59.55  104.21      0\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 83.8\n",
      "f");
  EXPECT_EQ(t.ranks, 2);
  EXPECT_EQ(t.hosts, 2);
  EXPECT_EQ(t.gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(t.collective, Collective::kAllReduce);
  EXPECT_EQ(t.zeroRows, 1U);
  ASSERT_EQ(t.rows.size(), 2U);
  EXPECT_EQ(t.rows[0].line, 10U);
  EXPECT_DOUBLE_EQ(t.rows[0].in.wrong, -1) << "N/A";
  EXPECT_DOUBLE_EQ(t.rows[1].out.wrong, 3);
  EXPECT_DOUBLE_EQ(t.rows[1].busbw(), 104.21);
  EXPECT_DOUBLE_EQ(t.statedAverage, 83.8);
}

TEST(BenchTable, OldLayoutsAndPrefixesAreRead) {
  const BenchTable old = readBenchTable(
      "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw "
      " error\n"
      "       65536          8192   float    16.57    1.98    1.98  0e+00    13.83    2.37    2.37 "
      " 5e-07\n",
      "f");
  EXPECT_FALSE(old.countsWrong);
  ASSERT_EQ(old.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(old.rows[0].in.wrong, 5e-7);
  EXPECT_EQ(old.rows[0].type, "float");
  const BenchTable prefixed = readBenchTable(
      "[1,0]<stdout>:#       size         count      type   redop     time   algbw   busbw  error  "
      "   time   algbw   busbw  error\n"
      "[1,0]<stdout>:    65536         16384     float     sum    54.69    1.20    2.25  1e-06    "
      "54.0    1.21    2.27  1e-06\n"
      "[1,0]<stdout>:h:1:1 [0] NCCL INFO Channel 00 : 0 -> 1 via P2P\n",
      "f");
  ASSERT_EQ(prefixed.rows.size(), 1U);
  EXPECT_EQ(prefixed.rows[0].bytes, 65536U);
  EXPECT_EQ(prefixed.rows[0].op, "sum");
  EXPECT_EQ(prefixed.foreignLines, 1U);
}

TEST(BenchTable, FaultsAreNamedWithTheirLine) {
  try {
    (void)readBenchTable(
        "#  size count type redop time algbw busbw error time algbw busbw error\n"
        "  8 2 float sum 1 2 x 0 1 2 3 0\n",
        "f");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f:2: busbw is 'x', which is no number");
  }
  EXPECT_THROW((void)readBenchTable("nothing\n", "f"), Error);
  EXPECT_FALSE(looksLikeBenchTable("# size of a thing\n"));
}

}  // namespace
}  // namespace autoccl::nccl
