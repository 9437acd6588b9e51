// What `autoccl bench` reads and prints. The measurement itself is tested in src/bench and tests/.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "cli/bench_options.h"
#include "cli/bench_output.h"
#include "cli/bench_plot.h"
#include "cli/sizes.h"

namespace autoccl::cli {
namespace {

using bench::BenchPlan;
using bench::BenchRow;

std::string refusalOf(const BenchWords& words) {
  try {
    (void)planOf(words);
  } catch (const Error& e) {
    EXPECT_EQ(e.code() == ErrorCode::kUsage || e.code() == ErrorCode::kInput, true) << e.what();
    return e.what();
  }
  return "";
}

BenchRow row(const std::string& who, bool own, double us, uint64_t bytes = 1 << 20) {
  BenchRow r;
  r.who = who;
  r.own = own;
  r.registered = own;
  r.bytes = bytes;
  r.medianUs = us;
  return r;
}

TEST(BenchOptions, SizesAreListsAndRanges) {
  EXPECT_EQ(sizesFrom("64K,1M"), (std::vector<uint64_t>{65536, 1048576}));
  EXPECT_EQ(sizesFrom("1K:64K:x4"), (std::vector<uint64_t>{1024, 4096, 16384, 65536}));
  EXPECT_EQ(sizesFrom("8,1K:3K:x2"), (std::vector<uint64_t>{8, 1024, 2048}));
}

TEST(BenchOptions, ARangeEndsAtItsLastSizeWhateverItsFactor) {
  EXPECT_EQ(sizesFrom("8G:8G:x2147483648"), std::vector<uint64_t>{uint64_t{1} << 33});
  EXPECT_THROW((void)sizesFrom("1:16777216G:x2"), Error);
}

TEST(BenchOptions, ABadWordIsNamedWithWhatIsAllowed) {
  struct Case {
    std::function<void(BenchWords&)> spoil;
    const char* option;
    const char* allowed;
  };
  const Case cases[] = {
      {[](BenchWords& w) { w.collectives = "allreduce,allreduse"; }, "--collective", "allgather"},
      {[](BenchWords& w) { w.collectives = "barrier"; }, "--collective", "allgather"},
      {[](BenchWords& w) { w.sizes = "1K:8K"; }, "--sizes", "1K:128M:x4"},
      {[](BenchWords& w) { w.sizes = "8K:1K:x2"; }, "--sizes", "1K:128M:x4"},
      {[](BenchWords& w) { w.sizes = "1K:8K:x1"; }, "--sizes", "factor of 2"},
      {[](BenchWords& w) { w.sizes = "0"; }, "--sizes", "1 to 8G"},
      {[](BenchWords& w) { w.sizes = "7Q"; }, "--sizes", "KiB"},
      {[](BenchWords& w) { w.vs = "nccl"; }, "--vs", "openmpi, openmpi-ucx"},
      {[](BenchWords& w) { w.modes = "best"; }, "--mode", "exhaustive"},
      {[](BenchWords& w) { w.buffers = "any"; }, "--buffers", "registered, ordinary"},
      {[](BenchWords& w) { w.compute = "much"; }, "--compute", "none, light, heavy"},
      {[](BenchWords& w) { w.pins = {"ring"}; }, "config", "algorithm/protocol/transport"},
      {[](BenchWords& w) { w.pinFrom = "/no/such.json"; }, "/no/such.json", "no such file"},
  };
  for (const Case& c : cases) {
    BenchWords words;
    c.spoil(words);
    const std::string said = refusalOf(words);
    EXPECT_NE(said.find(c.option), std::string::npos) << said;
    EXPECT_NE(said.find(c.allowed), std::string::npos) << said;
  }
}

TEST(BenchOptions, WordsBecomeThePlan) {
  BenchWords words;
  words.collectives = "allreduce,alltoall";
  words.modes = "default,tuned";
  words.buffers = "ordinary";
  words.compute = "heavy";
  words.vs = "mpich,gloo";
  const BenchPlan plan = planOf(words);
  EXPECT_EQ(plan.collectives,
            (std::vector<Collective>{Collective::kAllReduce, Collective::kAllToAll}));
  EXPECT_TRUE(plan.tuned);
  EXPECT_FALSE(plan.exhaustive);
  EXPECT_EQ(plan.registered, std::vector<bool>{false});
  EXPECT_EQ(plan.load, bench::LoadKind::kHeavy);
  EXPECT_EQ(plan.peers, (std::vector<std::string>{"mpich", "gloo"}));
}

TEST(BenchOptions, PinFromTakesTheTunedConfigsOfAnEarlierResultEachAtItsTask) {
  BenchRow tuned = row("tuned", true, 5);
  tuned.config = "oneshot/zero/shm nc=1 nt=1 c=64K wait=futex";
  bench::BenchResult result;
  result.rows = {row("default", true, 6), tuned};
  const auto path = std::filesystem::temp_directory_path() /
                    ("autoccl-bench-test-" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << benchDocument(BenchPlan(), result, "m", "d").pretty();
  BenchWords words;
  words.pinFrom = path.string();
  const BenchPlan plan = planOf(words);
  std::filesystem::remove(path);
  ASSERT_EQ(plan.pins.size(), 1u);
  EXPECT_EQ(plan.pins[0].config, tuned.config);
  EXPECT_EQ(plan.pins[0].bytes, tuned.bytes);
  EXPECT_EQ(plan.pins[0].collective, Collective::kAllReduce);
}

TEST(BenchOutput, TheDocumentHasTheFieldsOfTheContract) {
  bench::BenchResult result;
  BenchRow r = row("default", true, 100);
  r.config = "c";
  r.p10Us = 90;
  r.p90Us = 120;
  r.limitUs = 50;
  r.ratios["mpich"] = {1.5, 2, 2.5};
  result.rows = {r};
  const Json document = benchDocument(BenchPlan(), result, "machine", "date");
  EXPECT_EQ(document.find("machine")->text(), "machine");
  const Json& j = document.find("rows")->items().at(0);
  EXPECT_EQ(j.find("engine")->text(), "cpu");
  EXPECT_EQ(j.find("who")->text(), "default");
  EXPECT_EQ(j.find("collective")->text(), "allreduce");
  EXPECT_EQ(j.find("ranks")->unsignedValue(), 2u);
  EXPECT_EQ(j.find("bytes")->unsignedValue(), 1048576u);
  EXPECT_EQ(j.find("config")->text(), "c");
  EXPECT_DOUBLE_EQ(j.find("median_us")->number(), 100);
  EXPECT_DOUBLE_EQ(j.find("p10_us")->number(), 90);
  EXPECT_DOUBLE_EQ(j.find("p90_us")->number(), 120);
  EXPECT_DOUBLE_EQ(j.find("algbw_GBps")->number(), 10.48576);
  EXPECT_DOUBLE_EQ(j.find("busbw_GBps")->number(), 10.48576);
  EXPECT_EQ(j.find("wrong")->unsignedValue(), 0u);
  EXPECT_DOUBLE_EQ(j.find("share_of_limit")->number(), 0.5);
  EXPECT_DOUBLE_EQ(j.find("ratios")->find("mpich")->find("low")->number(), 1.5);
}

TEST(BenchOutput, ARowIsBehindWhenEvenTheUpperBoundIsBelow095) {
  BenchRow r = row("default", true, 100);
  r.ratios["mpich"] = {0.80, 0.90, 0.96};
  EXPECT_FALSE(r.behind());
  r.ratios["gloo"] = {0.80, 0.85, 0.94};
  EXPECT_TRUE(r.behind());
}

TEST(BenchOutput, ATunedRowSlowerThanTheDefaultIsNotBehindAPeer) {
  BenchRow r = row("tuned", true, 100);
  r.ratios["default"] = {0.5, 0.6, 0.7};
  EXPECT_FALSE(r.behind());
}

TEST(BenchOutput, TheTableHasOneLineForEachKindOfBufferAndNamesThePeersRatio) {
  BenchPlan plan;
  plan.peers = {"mpich"};
  BenchTable table(plan);
  BenchRow ours = row("default", true, 100);
  ours.ratios["mpich"] = {1.5, 2, 2.5};
  BenchRow ordinary = ours;
  ordinary.registered = false;
  ordinary.ratios["mpich"] = {1, 1.25, 1.5};
  const std::string text = table.lines({ours, ordinary, row("mpich", false, 200)});
  EXPECT_NE(text.find("# allreduce"), std::string::npos) << text;
  EXPECT_NE(text.find("-- mpich --"), std::string::npos) << text;
  EXPECT_NE(text.find("registered"), std::string::npos) << text;
  EXPECT_NE(text.find("2.00x"), std::string::npos) << text;
  EXPECT_NE(text.find("1.25x"), std::string::npos) << text;
}

TEST(BenchOutput, TheFootGivesTheGeometricMeanAndTheRowsBehind) {
  BenchPlan plan;
  plan.peers = {"mpich"};
  plan.registered = {true};
  bench::BenchResult result;
  result.rows = {row("default", true, 1, 1024), row("default", true, 1, 2048)};
  result.rows[0].ratios["mpich"] = {8, 8, 8};
  result.rows[1].ratios["mpich"] = {0.5, 0.5, 0.5};
  const std::string text = BenchTable(plan).foot(result);
  EXPECT_NE(text.find("2.00x as fast as mpich"), std::string::npos) << text;
  EXPECT_NE(text.find("behind a peer: allreduce 2048 B"), std::string::npos) << text;
}

TEST(BenchPlot, APointOfEveryContenderAndOfEachAxisOfTheGridIsDrawn) {
  bench::BenchResult result;
  result.rows = {row("default", true, 10), row("mpich", false, 20)};
  for (const char* chunk : {"16K", "64K"})
    result.grid.push_back({Collective::kAllReduce, 2, 1 << 20, true,
                           std::string("twoshot/zero/shm nc=1 nt=1 c=") + chunk + " wait=spin", 5,
                           4, 6});
  const std::string svg = benchSvg(result);
  for (const char* words : {"default, registered", "mpich", "response to chunk C",
                            "response to channels NC", "twoshot/zero/shm spin"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
}

}  // namespace
}  // namespace autoccl::cli
