#include "topo/nvml.h"

#include <gtest/gtest.h>

#include "topo/paths.h"

namespace autoccl::topo {
namespace {

TEST(Nvml, ModelsAndLinksAreAddedToWhatIsKnown) {
  Host host;
  PciDevice known;
  known.busId = "0000:11:00.0";
  known.deviceClass = "0x030200";
  known.linkWidth = 16;
  host.pci.push_back(known);
  Gpu gpu;
  gpu.pci = 0;
  host.gpus.push_back(gpu);
  EXPECT_EQ(addNvml(host, NVML_DOUBLE), "");
  ASSERT_EQ(host.gpus.size(), 3U) << "those that /sys hides are added";
  EXPECT_EQ(host.gpus[1].pci, 0) << "GPU 1 is the one that was known";
  EXPECT_EQ(host.gpus[1].index, 1);
  EXPECT_EQ(host.gpus[1].model, "NVIDIA H200");
  EXPECT_EQ(host.gpus[1].computeCapability, 90);
  const Path path = gpuToGpu(host, 0, 1);
  EXPECT_EQ(path.path, PathClass::kNvlink) << "a hidden remote end is a switch";
  EXPECT_EQ(path.links, 18);
  EXPECT_EQ(gpuToGpu(host, 2, 0).links, 1) << "a link from GPU to GPU";
}

TEST(Nvml, ALibraryThatIsNotThereIsAReasonAndNothingMore) {
  Host host;
  EXPECT_EQ(addNvml(host, "libno-such-nvml.so"), "libno-such-nvml.so is not there");
  EXPECT_EQ(addNvml(host, "libm.so.6"), "NVML lacks what is needed");
  EXPECT_TRUE(host.gpus.empty());
}

}  // namespace
}  // namespace autoccl::topo
