#include "edge/nccl/variant_table.h"

#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "edge/nccl/space.h"

namespace autoccl::nccl {
namespace {

constexpr Pair kRingSimple{kAlgoRing, kProtoSimple};
constexpr Pair kRingLL{kAlgoRing, kProtoLL};
constexpr Pair kTreeSimple{kAlgoTree, kProtoSimple};
constexpr Pair kNvlsSimple{kAlgoNvls, kProtoSimple};

const VariantRow& row(Variant variant) {
  return variantRows().at(static_cast<size_t>(variant) - 1);
}

TEST(Variants, TheTableHasARowForEachInOrder) {
  ASSERT_EQ(variantRows().size(), size_t{kVariants - 1});
  for (const VariantRow& r : variantRows()) {
    EXPECT_EQ(&row(r.variant), &r);
    EXPECT_FALSE(r.variables.empty()) << toText(r.variant);
    EXPECT_EQ(fromText<Variant>(toText(r.variant)), r.variant);
  }
}

TEST(Variants, WordsNameThemAndOldReleasesGetPairsToo) {
  EXPECT_EQ(variantsNamed("threads", 22809),
            bitOf(Variant::kFewThreads) | bitOf(Variant::kAllThreads));
  EXPECT_EQ(variantsNamed("", 21805), 0U);
  EXPECT_NE(variantsNamed("threads", 21805) & bitOf(Variant::kTreeLL), 0U);
  EXPECT_THROW((void)variantsNamed("threads,threds", 22809), Error);
}

TEST(Variants, NoWordAsksForCopiesByTheCopyEngine) {
  for (const VariantRow& r : variantRows())
    for (const auto& [name, value] : r.variables)
      EXPECT_STRNE(name, "NCCL_P2P_USE_CUDA_MEMCPY") << toText(r.variant);
}

// Thread counts and buffers that do not divide the work have given wrong sums in silence.
TEST(Variants, BuffersArePowersOfTwoAndThreadsAreNeverCounted) {
  for (const VariantRow& r : variantRows())
    for (const auto& [name, value] : r.variables) {
      EXPECT_STRNE(name, "NCCL_NTHREADS");
      EXPECT_STRNE(name, "NCCL_LL128_NTHREADS");
      if (std::string_view(name) != "NCCL_BUFFSIZE") continue;
      const uint64_t bytes = std::stoull(value);
      EXPECT_EQ(std::to_string(bytes), value) << "plain decimal";
      EXPECT_TRUE(std::has_single_bit(bytes) && bytes >= 256 << 10 && bytes <= 16 << 20) << value;
    }
}

TEST(Variants, ACopyIsNeededWhereTheReleaseReadsOnce) {
  EXPECT_FALSE(needsCopy(row(Variant::kFewThreads), 21805, nullptr));
  EXPECT_TRUE(needsCopy(row(Variant::kLargeBuffers), 22809, "NCCL_BUFFSIZE"));
  EXPECT_TRUE(needsCopy(row(Variant::kLargeBuffers), 22907, nullptr));
  EXPECT_TRUE(needsCopy(row(Variant::kLargeBuffers), 22907, "NCCL_BUFFSIZES,NCCL_NTHREADS"));
  EXPECT_FALSE(needsCopy(row(Variant::kLargeBuffers), 22907, "NCCL_NTHREADS,NCCL_BUFFSIZE"));
  EXPECT_FALSE(needsCopy(row(Variant::kLargeBuffers), 23007, "ALL"));
  EXPECT_TRUE(needsCopy(row(Variant::kShm), 23007, "ALL"));
}

TEST(Variants, OnlyPairsThatRunOtherwiseAreOffered) {
  EXPECT_TRUE(changes(Variant::kFewThreads, kRingLL, 5));
  EXPECT_FALSE(changes(Variant::kFewThreads, kTreeSimple, 5)) << "Tree has all threads";
  EXPECT_TRUE(changes(Variant::kFewThreads, kTreeSimple, 2));
  EXPECT_FALSE(changes(Variant::kLargeBuffers, kRingLL, 5));
  EXPECT_FALSE(changes(Variant::kNet, kNvlsSimple, 5));
  EXPECT_TRUE(changes(Variant::kTreeSimple, kTreeSimple, 0));
  EXPECT_FALSE(changes(Variant::kTreeSimple, kRingSimple, 0));
}

TEST(Variants, ASubspaceForEachInTheSpaceOfASwitchableTask) {
  Task task;
  task.collective = Collective::kAllReduce;
  task.nRanks = 4;
  task.bytes = 1 << 20;
  task.variant = bitOf(kRingSimple) | bitOf(kRingLL) | kSwitchable;
  const VariantSet both = bitOf(Variant::kFewThreads) | bitOf(Variant::kLargeBuffers);
  const Space space = spaceOf(task, {.tunerVersion = 5, .variants = both}, {});
  std::vector<std::string> names;
  for (const Subspace& s : space.subspaces) names.push_back(toText(s.at(0, 0, 0)));
  EXPECT_EQ(names, (std::vector<std::string>{
                       "ring/ll/auto nc=1 nt=auto c=auto", "ring/simple/auto nc=1 nt=auto c=auto",
                       "ring/ll/auto nc=1 nt=auto c=auto on=few-threads",
                       "ring/simple/auto nc=1 nt=auto c=auto on=few-threads",
                       "ring/simple/auto nc=1 nt=auto c=auto on=large-buffers"}));
  for (const std::string& name : names) EXPECT_TRUE(space.valid(parseConfig(name))) << name;
  EXPECT_FALSE(space.valid(parseConfig("ring/simple/auto nc=1 nt=auto c=auto on=net")));
}

TEST(Variants, WithoutATunerThereIsNothingElse) {
  Task task;
  task.nRanks = 2;
  task.variant = pairsWithoutTable(kFuncAllReduce) | kSwitchable;
  const Space space =
      spaceOf(task, {.tunerVersion = 0, .variants = variantsNamed("threads", 21805)}, {});
  EXPECT_FALSE(space.subspaces.empty());
  for (const Subspace& s : space.subspaces) EXPECT_NE(s.extra, 0) << toText(s.at(0, 0, 0));
}

TEST(Variants, TheEstimateGrowsWithChannelsAndBuffers) {
  EXPECT_EQ(estimatedBytes(Variant::kFewThreads, 1) >> 20, 16U + 36U);
  EXPECT_GT(estimatedBytes(Variant::kFewThreads, 32), estimatedBytes(Variant::kFewThreads, 16));
  EXPECT_GT(estimatedBytes(Variant::kLargeBuffers, 16), estimatedBytes(Variant::kNet, 16));
}

TEST(Variants, TheDocumentShowsThisTable) {
  std::ifstream file(AUTOCCL_SOURCE_DIR "/docs/nccl.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const size_t begin = page.find('\n', page.find("<!-- variants: begin")) + 1;
  const size_t end = page.find("<!-- variants: end -->");
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(page.substr(begin, end - begin), variantsMarkdown());
}

}  // namespace
}  // namespace autoccl::nccl
