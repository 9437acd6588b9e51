#include "topo/fabric.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "topo/toml.h"

namespace autoccl::topo {
namespace {

constexpr const char* kFabric = R"(schema = "autoccl-fabric/1"
name = "two pods"   # for people
spines = 4

[hosts]
count = 4
gpus = 8
nics = 2
platform = "dgx-h100"

[links.gpu]
alpha_us = 1
GBps = 360

[links.nic]
alpha_us = 5.5
GBps = 50

[links.spine]
alpha_us = 0.5
GBps = 50

[[leaf]]
name = "a"
hosts = "0-1"
rails = "0,1"
oversubscription = 2

[[leaf]]
hosts = "2,3"
rails = "0-1"
uplinks = 4
)";

std::string refusal(const std::string& text) {
  try {
    (void)readFabric(text, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "read";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST(Fabric, HostsLinksAndLeavesAreRead) {
  const Fabric f = readFabric(kFabric, "f");
  EXPECT_EQ(f.hosts, 4);
  EXPECT_EQ(f.hostNames[3], "node3");
  EXPECT_DOUBLE_EQ(f.nic.alphaUs, 5.5);
  ASSERT_EQ(f.leaves.size(), 2U);
  EXPECT_EQ(f.leaves[0].uplinks, 2) << "4 NICs of 50 GB/s over 2 uplinks";
  EXPECT_DOUBLE_EQ(f.oversubscription(f.leaves[0]), 2);
  EXPECT_DOUBLE_EQ(f.oversubscription(f.leaves[1]), 1);
  EXPECT_EQ(f.leafOf(1, 1), 0);
  EXPECT_EQ(f.leafOf(3, 0), 1);
}

TEST(Fabric, WhatIsWrittenIsReadAsTheSame) {
  const std::string once = writeFabric(readFabric(kFabric, "f"));
  EXPECT_EQ(writeFabric(readFabric(once, "f")), once);
}

TEST(Fabric, WithoutLeavesEachRailHasItsOwn) {
  const Fabric f = railFabric(3, 8, 4, 400);
  EXPECT_EQ(f.leaves.size(), 4U);
  EXPECT_EQ(f.leafOf(2, 3), 3);
  EXPECT_DOUBLE_EQ(f.nic.GBps, 50);
}

TEST(Fabric, FaultsAreNamedWithTheirLine) {
  EXPECT_EQ(refusal(replaced(kFabric, "count = 4", "count = 0")),
            "f:6: [hosts]: count is 0; allowed are 1 to 65536");
  EXPECT_EQ(refusal(replaced(kFabric, "platform", "plattform")),
            "f:9: [hosts]: 'plattform' is not known; known here are count, gpus, nics");
  EXPECT_EQ(refusal(replaced(kFabric, "hosts = \"2,3\"", "hosts = \"1,3\"")),
            "f:29: NIC 0 of host 1 is on a already");
  EXPECT_EQ(refusal(replaced(kFabric, "hosts = \"2,3\"", "hosts = \"2\"")),
            "f: NIC 0 of host 3 is on no leaf");
  EXPECT_EQ(refusal(replaced(kFabric, "\"2,3\"", "\"2-x\"")),
            "f:30: [[leaf]]: hosts is no list such as \"0-15\" of hosts below 4");
  EXPECT_EQ(refusal("schema = \"autoccl-fabric/2\"\n"),
            "f:1: the file: schema is 'autoccl-fabric/2'; this reads autoccl-fabric/1");
}

TEST(Toml, ReadsWhatADescriptionNeeds) {
  const TomlValue t = parseToml(
      "a.b = 1_000\n\"q k\" = 'raw\\n'\nlist = [ 1, # one\n 2.5,\n]\nin = {x = true, y = "
      "\"\\t\"}\n",
      "f");
  EXPECT_EQ(t.find("a")->find("b")->integer, 1000);
  EXPECT_EQ(t.find("q k")->text, "raw\\n");
  EXPECT_DOUBLE_EQ(t.find("list")->items.at(1).number, 2.5);
  EXPECT_TRUE(t.find("in")->find("x")->flag);
  EXPECT_EQ(t.find("in")->find("y")->text, "\t");
}

TEST(Toml, RefusesWhatItDoesNotRead) {
  for (const char* bad :
       {"a = 1\na = 2", "a = 2024-01-01", "a = \"\"\"x\"\"\"", "[a]\n[a]", "a = [1", "a",
        "a = ", "= 1", "a = 1 2", "a = {x = 1}\n[a]\ny = 1", "a = nan", "[[a]]\n[a]", "a = \"x"})
    EXPECT_THROW((void)parseToml(bad, "f"), Error) << bad;
}

}  // namespace
}  // namespace autoccl::topo
