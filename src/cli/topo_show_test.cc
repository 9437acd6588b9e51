#include <gtest/gtest.h>

#include <fstream>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/testing/command.h"
#include "store/json.h"
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

TEST(TopoShow, DrawsThisMachineWithNothingOfAGpuThere) {
  const Output o = runAutoccl({"topo", "show"});
  EXPECT_EQ(o.status, kDone) << o.err;
  EXPECT_TRUE(contains(o.out, "NUMA")) << o.out;
  EXPECT_TRUE(contains(o.out, "/dev/shm")) << o.out;
}

TEST(TopoShow, ATreeHasEveryDeviceWithItsLink) {
  const TestFolder folder;
  const Output o = runAutoccl({"topo", "show", written(folder / "a", fixtures::kDump)});
  EXPECT_EQ(o.status, kDone) << o.err;
  for (const char* part :
       {"NUMA 1  CPUs 8-15  x86_64 GenuineIntel 6/143",
        "├─ GPU0, sm 90, NVLink x18 371 GB/s  0000:11:00.0  32.0 GT/s x16 48.0 GB/s",
        "NIC mlx5_1 400 Gbit/s  0000:93:00.0", "NV18"})
    EXPECT_TRUE(contains(o.out, part)) << part << " is not in " << o.out;
}

TEST(TopoShow, TheDocumentSaysNothingOfWhatIsUnknown) {
  const TestFolder folder;
  const Output o =
      runAutoccl({"topo", "show", "--json", "-", written(folder / "a", fixtures::kSkeleton)});
  ASSERT_EQ(o.status, kDone) << o.err;
  const Json document = parseJson(o.out, "json");
  const Json& host = document.find("topologies")->items().at(0);
  EXPECT_EQ(host.find("schema")->text(), "autoccl-topology/1");
  const Json& gpu = host.find("gpus")->items().at(0);
  EXPECT_EQ(gpu.find("index"), nullptr);
  EXPECT_EQ(gpu.find("links_GBps"), nullptr);
  EXPECT_EQ(host.find("paths")->items().at(0).items().at(2).find("class")->text(), "PIX");
}

TEST(TopoShow, TellsFilesApartAndReadsThoseThatItCan) {
  const TestFolder folder;
  const Output o =
      runAutoccl({"topo", "show", written(folder / "graphs", fixtures::kGraphs), folder / "none",
                  written(folder / "cut", std::string(fixtures::kDump).substr(0, 900)),
                  written(folder / "smi", fixtures::kMatrix),
                  written(folder / "fabric",
                          "schema = \"autoccl-fabric/1\"\n[hosts]\ncount = 2\ngpus = 8\n"
                          "nics = 4\n[links.nic]\nalpha_us = 5\nGBps = 50\n")});
  EXPECT_EQ(o.status, kUsage);
  EXPECT_TRUE(contains(o.out, "ring: 2 channels of 40.0 GB/s")) << o.out;
  EXPECT_TRUE(contains(o.out, "nvidia-smi topo -m: 1 NUMA node, 2 GPUs, 2 NICs")) << o.out;
  EXPECT_TRUE(contains(o.out, "fabric: 2 hosts of 8 GPUs and 4 NICs, 4 leaves")) << o.out;
  EXPECT_TRUE(contains(o.err, "none: there is no such file")) << o.err;
  EXPECT_TRUE(contains(o.err, "the file is cut off")) << o.err;
}

TEST(TopoShow, DrawsAPictureAndAPage) {
  const TestFolder folder;
  const std::string file = written(folder / "a", fixtures::kDump);
  const Output o =
      runAutoccl({"topo", "show", file, "--svg", folder / "s", "--html", folder / "h"});
  ASSERT_EQ(o.status, kDone) << o.err;
  const std::string svg = readInput(folder / "s"), page = readInput(folder / "h");
  for (const char* part : {"GPU3", "mlx5_1", "NUMA 1", "all GPUs joined", "</svg>"})
    EXPECT_TRUE(contains(svg, part)) << part;
  EXPECT_TRUE(contains(page, "Nearest NICs")) << page;
}

}  // namespace
}  // namespace autoccl::cli
