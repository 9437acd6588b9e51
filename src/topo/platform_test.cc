#include "topo/platform.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "topo/paths.h"
#include "topo/plan_cost.h"

namespace autoccl::topo {
namespace {

TEST(Platform, EveryFileIsReadAndNamedByItsName) {
  ASSERT_GE(platforms().size(), 13U);
  for (const Platform& p : platforms()) {
    EXPECT_EQ(&platformNamed(p.name), &p);
    EXPECT_FALSE(p.title.empty());
    EXPECT_FALSE(p.source.empty());
    EXPECT_FALSE(p.checks.empty());
  }
  EXPECT_THROW((void)platformNamed("pdp-11"), Error);
}

TEST(Platform, EachMakesAHostThatIsPlannedOnItsRails) {
  for (const Platform& p : platforms()) {
    const Host host = hostOf(p);
    EXPECT_TRUE(lintPlatform(host, p, "f").empty()) << p.name;
    EXPECT_EQ(gpuToGpu(host, 0, p.gpus - 1).path, PathClass::kNvlink) << p.name;
    EXPECT_EQ(gpuToNic(host, p.gpus - 1, p.nics - 1).path, PathClass::kPix) << p.name;
    const Job job = jobOf(host, railFabric(4, p.gpus, p.nics, p.nicGbps));
    const PlanCost cost = ringCost(job, railRings(job), 1 << 20);
    EXPECT_EQ(cost.crossRailPairs, 0) << p.name;
    EXPECT_EQ(cost.nicsUsed, p.nics) << p.name;
  }
}

TEST(Platform, WhatIsMissingIsNamed) {
  const Platform& p = platformNamed("dgx-h100");
  Host host = hostOf(p);
  host.nics.resize(7);
  host.nics[3].mbps = 100000;
  host.gpus[2].links[0].count = 12;
  const auto found = lintPlatform(host, p, "f");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].what, "7 of 8 NICs that NVIDIA DGX H100, HGX H100 has");
  EXPECT_EQ(found[1].what, "12 of 18 links of a GPU that NVIDIA DGX H100, HGX H100 has");
  EXPECT_EQ(found[2].what, "100 of 400 Gbit/s of a NIC that NVIDIA DGX H100, HGX H100 has");
}

TEST(Platform, FaultsAreNamedWithTheirLine) {
  try {
    (void)readPlatform(
        "schema = \"autoccl-platform/1\"\nname = \"x\"\ntitle = \"x\"\nsource = \"x\"\nchecks = "
        "[]\n"
        "[host]\nnuma = 0\n",
        "f");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f:7: [host]: numa is 0; allowed are 1 to 64");
  }
}

}  // namespace
}  // namespace autoccl::topo
