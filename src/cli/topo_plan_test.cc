#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/testing/command.h"
#include "store/json.h"
#include "topo/cpu_set.h"
#include "topo/discover.h"
#include "topo/testing/fixtures.h"

namespace autoccl::cli {
namespace {

namespace fixtures = topo::fixtures;

std::string written(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// Four GPUs that are not there, in two halves of the CPUs of this machine.
std::string fakeGpus() {
  const topo::CpuSet allowed = topo::discover().allowed;
  topo::CpuSet half[2];
  size_t i = 0;
  for (size_t cpu = 0; cpu < topo::CpuSet::kMost; ++cpu)
    if (allowed.has(cpu)) half[i++ * 2 / allowed.count()].add(cpu);
  if (half[1].empty()) half[1] = half[0];
  std::string text = "<system version=\"1\">";
  for (int n = 0; n < 2; ++n) {
    text += "<cpu numaid=\"" + std::to_string(n) + "\" affinity=\"" + half[n].mask() + "\">";
    for (int g = 0; g < 2; ++g)
      text += "<pci busid=\"0000:0" + std::to_string(n * 2 + g) + ":00.0\" class=\"0x030200\"/>";
    text += "</cpu>";
  }
  return text + "</system>";
}

struct Started {
  int status = 0;
  std::string out;
};
Started start(const std::string& line, const std::string& out) {
  const int how = std::system((line + " >'" + out + "' 2>/dev/null </dev/null").c_str());
  return {WIFEXITED(how) ? WEXITSTATUS(how) : -1, readInput(out)};
}

TEST(TopoPlanCommand, EightHostsUseEveryNicAndCrossNoRail) {
  const TestFolder folder;
  const std::string file = written(folder / "a", fixtures::kDump);
  const Output o = runAutoccl({"topo", "plan", file, "--hosts", "8", "--json", "-"});
  ASSERT_EQ(o.status, kDone) << o.err;
  const Json plan = parseJson(o.out, "json");
  EXPECT_EQ(plan.find("after")->find("cross_rail_pairs")->unsignedValue(), 0U);
  EXPECT_EQ(plan.find("after")->find("nics_used")->unsignedValue(), 2U);
  EXPECT_EQ(plan.find("before")->find("cross_rail_pairs")->unsignedValue(), 8U);
  EXPECT_EQ(plan.find("rings")->items().size(), 2U);
  const Output text = runAutoccl({"topo", "plan", file, "--hosts", "8"});
  EXPECT_TRUE(contains(text.out, "after:  2 of 2 NICs of a host used, 0 pairs cross rails"))
      << text.out;
}

TEST(TopoPlanCommand, TheScriptStartsOneProcessPerGpuInsideTheAllowedCpus) {
  const TestFolder folder;
  const std::string script = folder / "launch.sh";
  const Output o = runAutoccl({"topo", "plan", written(folder / "a", fakeGpus()), "--launcher",
                               "local", "--script", script});
  ASSERT_EQ(o.status, kDone) << o.err;
  const Started ran = start("'" + script +
                                "' --start sh -c 'echo $RANK $LOCAL_RANK $WORLD_SIZE $(sed -n "
                                "\"s/^Cpus_allowed_list:[[:space:]]*//p\" /proc/self/status)'",
                            folder / "out");
  ASSERT_EQ(ran.status, 0) << ran.out;
  const topo::CpuSet allowed = topo::discover().allowed;
  std::istringstream lines(ran.out);
  int seen = 0;
  for (std::string rank, local, size, cpus; lines >> rank >> local >> size >> cpus; ++seen) {
    EXPECT_EQ(rank, local);
    EXPECT_EQ(size, "4");
    const auto set = topo::CpuSet::fromList(cpus);
    ASSERT_TRUE(set) << cpus;
    EXPECT_FALSE(set->empty());
    EXPECT_EQ(set->both(allowed), *set) << "rank " << rank << " left the allowed CPUs";
  }
  EXPECT_EQ(seen, 4) << ran.out;
}

TEST(TopoPlanCommand, TheScriptEndsWithTheStatusOfARankThatFails) {
  const TestFolder folder;
  const std::string script = folder / "launch.sh";
  (void)runAutoccl({"topo", "plan", written(folder / "a", fakeGpus()), "--launcher", "local",
                    "--one-visible", "--script", script});
  const Started ran =
      start("'" + script + "' --start sh -c 'exit $((CUDA_VISIBLE_DEVICES == 2 ? 7 : 0))'",
            folder / "out");
  EXPECT_EQ(ran.status, 7);
  EXPECT_EQ(start("'" + script + "' true", folder / "out").status, 2) << "no local rank is known";
  EXPECT_EQ(start("env SLURM_LOCALID=4 '" + script + "' true", folder / "out").status, 2)
      << "there are four GPUs";
  EXPECT_EQ(
      start("env SLURM_LOCALID=3 '" + script + "' sh -c 'echo $LOCAL_RANK'", folder / "out").out,
      "3\n");
}

TEST(TopoPlanCommand, RankFilesPlaceEveryRank) {
  const TestFolder folder;
  const std::string file = written(folder / "a", fixtures::kDump);
  const auto rankFile = [&](const char* launcher) {
    return runAutoccl(
               {"topo", "plan", file, "--hosts", "2", "--launcher", launcher, "--rank-file", "-"})
        .out;
  };
  EXPECT_EQ(
      rankFile("openmpi"),
      "rank 0=node0 slot=0-3\nrank 1=node0 slot=4-7\nrank 2=node0 slot=8-11\nrank 3=node0 "
      "slot=12-15\nrank 4=node1 slot=0-3\nrank 5=node1 slot=4-7\nrank 6=node1 slot=8-11\nrank "
      "7=node1 slot=12-15\n");
  EXPECT_EQ(rankFile("slurm"), "node0\nnode0\nnode0\nnode0\nnode1\nnode1\nnode1\nnode1\n");
  EXPECT_EQ(
      rankFile("torchrun"),
      "NODE_RANK=0 MASTER_ADDR=node0  # on node0\nNODE_RANK=1 MASTER_ADDR=node0  # on node1\n");
}

TEST(TopoPlanCommand, TheSimulatorReadsTheSameFabric) {
  const TestFolder folder;
  const std::string fabric =
      written(folder / "f",
              "schema = \"autoccl-fabric/1\"\n[hosts]\ncount = 4\ngpus = 8\nnics = 8\nplatform = "
              "\"dgx-h100\"\n[links.nic]\nalpha_us = 1\nGBps = 50\n");
  const Output sim = runAutoccl({"sim", "--as", "nccl", "--fabric", fabric});
  EXPECT_EQ(sim.status, kDone) << sim.err;
  EXPECT_TRUE(contains(sim.out, "4 nodes, 32 ranks")) << sim.out;
  const Output plan = runAutoccl({"topo", "plan", "--fabric", fabric});
  EXPECT_TRUE(contains(plan.out, "32 ranks on 4 hosts")) << plan.out << plan.err;
  EXPECT_TRUE(contains(plan.out, "8 of 8 NICs of a host used, 0 pairs cross rails")) << plan.out;
}

TEST(TopoPlanCommand, WhatCannotBePlannedIsSaid) {
  const TestFolder folder;
  const std::string skeleton = written(folder / "s", fixtures::kSkeleton);
  EXPECT_TRUE(
      contains(runAutoccl({"topo", "plan", skeleton, "--hosts", "2"}).err, "give --nic-gbps"));
  EXPECT_TRUE(contains(runAutoccl({"topo", "plan", skeleton, "--launcher", "x"}).err,
                       "known are local, torchrun, slurm, openmpi"));
  const std::string fabric =
      written(folder / "f",
              "schema = \"autoccl-fabric/1\"\n[hosts]\ncount = 2\ngpus = 8\nnics = 1\n"
              "[links.nic]\nalpha_us = 1\nGBps = 12\n");
  const Output o = runAutoccl({"topo", "plan", skeleton, "--fabric", fabric});
  EXPECT_EQ(o.status, kUsage);
  EXPECT_TRUE(contains(o.err, "the topology has 2 GPUs and 1 NICs, the fabric 8 and 1")) << o.err;
}

}  // namespace
}  // namespace autoccl::cli
