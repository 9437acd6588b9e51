#include <gtest/gtest.h>

#include "base/error.h"
#include "topo/any_file.h"
#include "topo/bandwidth.h"
#include "topo/hwloc_xml.h"
#include "topo/nccl_graphs.h"
#include "topo/nccl_xml.h"
#include "topo/paths.h"
#include "topo/smi_matrix.h"
#include "topo/testing/fixtures.h"

namespace autoccl::topo {
namespace {

std::string refusal(const std::string& text) {
  try {
    (void)readHost(text, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "read";
}

TEST(NcclXml, ADumpHasItsDevicesLinksAndBandwidths) {
  const Host host = readNcclXml(fixtures::kDump, "f");
  ASSERT_EQ(host.gpus.size(), 4U);
  ASSERT_EQ(host.nics.size(), 2U);
  EXPECT_EQ(host.numa[1].cpus.list(), "8-15");
  EXPECT_EQ(host.gpus[2].rank, 2);
  const Path nvlink = gpuToGpu(host, 0, 3);
  EXPECT_EQ(nvlink.path, PathClass::kNvlink);
  EXPECT_EQ(nvlink.links, 18);
  EXPECT_DOUBLE_EQ(nvlink.GBps, 18 * 20.6);
  const Path near = gpuToNic(host, 0, 0), far = gpuToNic(host, 0, 1);
  EXPECT_EQ(near.path, PathClass::kPix);
  EXPECT_DOUBLE_EQ(near.GBps, 48);
  EXPECT_EQ(far.path, PathClass::kSys);
  EXPECT_DOUBLE_EQ(far.GBps, 22) << "the socket's";
}

TEST(NcclXml, AVendorsSkeletonCountsDevicesByTheirClass) {
  const Host host = readNcclXml(fixtures::kSkeleton, "f");
  EXPECT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(host.nics.size(), 1U);
  EXPECT_FALSE(host.gpus[0].declared);
  EXPECT_EQ(gpuToNic(host, 1, 0).path, PathClass::kPix);
  EXPECT_DOUBLE_EQ(gpuToNic(host, 1, 0).GBps, 12) << "8 GT/s and 16 lanes";
  EXPECT_EQ(overPci(host, host.gpus[0].pci, host.pciByBusId("0000:00:16.0")).path, PathClass::kSys);
  EXPECT_EQ(host.numa[1].arch, "") << "not in the file, so unknown";
}

TEST(NcclXml, RcclsDialectJoinsGpusByXgmi) {
  const Host host = readNcclXml(fixtures::kRccl, "f");
  EXPECT_EQ(host.xmlVersion, 2);
  ASSERT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(host.gpus[0].gcn, "gfx942");
  EXPECT_EQ(gpuToGpu(host, 0, 1).path, PathClass::kNvlink);
  EXPECT_DOUBLE_EQ(gpuToGpu(host, 0, 1).GBps, 48);
  EXPECT_EQ(gpuToNic(host, 0, 0).path, PathClass::kPxb);
}

TEST(NcclXml, WhatIsNotKnownIsKeptAndCounted) {
  const Host host = readNcclXml(
      R"(<system version="1" a="1"><cpu numaid="0" b="2"><new/><pci busid="1" c="3"/></cpu></system>)",
      "f");
  EXPECT_EQ(host.unknownParts, 4);
  const std::string again = writeNcclXml(host, XmlDialect::kNccl);
  for (const char* part : {" a=\"1\"", " b=\"2\"", " c=\"3\""})
    EXPECT_NE(again.find(part), again.npos) << again;
  ASSERT_EQ(host.notes.size(), 1U);
  EXPECT_EQ(host.notes[0], "f:1: <new> inside <cpu> is not known and left out, as in NCCL");
}

TEST(NcclXml, WhatIsWrittenIsReadAsTheSame) {
  for (const char* text : {fixtures::kDump, fixtures::kSkeleton, fixtures::kRccl}) {
    const Host host = readNcclXml(text, "f");
    const XmlDialect dialect = host.xmlVersion == 2 ? XmlDialect::kRccl : XmlDialect::kNccl;
    const std::string once = writeNcclXml(host, dialect);
    EXPECT_EQ(writeNcclXml(readNcclXml(once, "f"), dialect), once);
    EXPECT_EQ(readNcclXml(once, "f").gpus.size(), host.gpus.size());
  }
}

TEST(NcclXml, FaultsAreNamedWithTheirLine) {
  const std::string whole = fixtures::kDump;
  EXPECT_EQ(refusal(whole.substr(0, whole.find("</cpu>"))),
            "f:14: ends inside <cpu> of line 2: the file is cut off");
  EXPECT_EQ(refusal("<system version=\"1\">\n<cpu numaid=\"x\"/></system>"),
            "f:2: numaid of <cpu> is 'x', which is no number of its range");
  EXPECT_EQ(refusal("<system version=\"1\"><cpu></pci></system>"),
            "f:1: </pci> where </cpu> of line 1 is due");
  EXPECT_EQ(refusal("<system version=\"1\"><cpu affinity=\"xyz\"/></system>"),
            "f:1: affinity 'xyz' is no mask of CPUs");
  EXPECT_EQ(refusal(" \n"), "f: is empty");
  EXPECT_EQ(refusal(std::string("\x7f"
                                "ELF\0\1",
                                6)),
            "f: is a binary file");
  EXPECT_TRUE(refusal("hello").starts_with("f: is no topology: known are"));
}

TEST(SmiMatrix, PathsAffinityAndNamesAreRead) {
  const Host host = readSmiMatrix(fixtures::kMatrix, "f");
  ASSERT_EQ(host.gpus.size(), 2U);
  ASSERT_EQ(host.nics.size(), 2U);
  EXPECT_EQ(host.nics[1].name, "mlx5_1");
  EXPECT_EQ(gpuToGpu(host, 0, 1).links, 18);
  EXPECT_EQ(gpuToNic(host, 1, 1).path, PathClass::kPix);
  EXPECT_EQ(gpuToNic(host, 0, 1).path, PathClass::kNode);
  EXPECT_EQ(host.numa.size(), 1U);
  EXPECT_EQ(host.numa[0].cpus.list(), "0-55,112-167");
  EXPECT_EQ(host.nics[0].numa, 0);
  EXPECT_EQ(nicsByDistance(host, 1).front(), 1);
  EXPECT_TRUE(host.notes.empty());
}

TEST(SmiMatrix, FaultsAreNamedWithTheirLine) {
  EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\t X \tNV4\n"),
            "f:2: the matrix has 1 of 2 rows: it is cut off");
  EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\t X \tNVX\n"),
            "f:2: cell 'NVX'; known are X, NV#, PIX, PXB, PHB, NODE, SYS");
  EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU1\t X \tPIX\n"), "f:2: row 'GPU1' where GPU0 is due");
  const Host host = readSmiMatrix("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV2\t X \n", "f");
  ASSERT_EQ(host.notes.size(), 1U);
  EXPECT_EQ(host.notes[0], "f: GPU0 to GPU1 is not what GPU1 to GPU0 is");
}

TEST(HwlocXml, DevicesStandInTheirNumaNodes) {
  const Host host = readHwlocXml(fixtures::kHwloc, "f");
  ASSERT_EQ(host.gpus.size(), 1U);
  ASSERT_EQ(host.nics.size(), 1U);
  EXPECT_EQ(host.gpus[0].model, "NVIDIA H100");
  EXPECT_EQ(host.gpus[0].index, 0);
  EXPECT_EQ(host.numa[static_cast<size_t>(host.gpus[0].numa)].id, 1);
  EXPECT_EQ(host.nics[0].name, "mlx5_0");
  EXPECT_EQ(host.nics[0].interfaceName, "ib0");
  EXPECT_EQ(host.nics[0].state, "ACTIVE");
  EXPECT_EQ(gpuToNic(host, 0, 0).path, PathClass::kPix);
  EXPECT_DOUBLE_EQ(gpuToNic(host, 0, 0).GBps, 31.5) << "what hwloc says is the link's present one";
  EXPECT_EQ(host.numa[1].vendor, "GenuineIntel");
}

TEST(NcclGraphs, ChannelsAreInTheirOrder) {
  const NcclGraphs all = readNcclGraphs(fixtures::kGraphs, "f");
  ASSERT_EQ(all.graphs.size(), 1U);
  EXPECT_EQ(patternText(all.graphs[0].pattern), "ring");
  ASSERT_EQ(all.graphs[0].found.size(), 2U);
  EXPECT_EQ(all.graphs[0].found[1].gpus, (std::vector<std::string>{"1", "0"}));
  EXPECT_EQ(all.graphs[0].found[0].nets, (std::vector<std::string>{"0", "0"}));
  EXPECT_DOUBLE_EQ(all.graphs[0].intraGBps, 40);
}

TEST(Bandwidth, EverySpellingHasItsTrueWidthAndWhatNcclTakesItFor) {
  struct Case {
    const char* text;
    double truth, nccl;
    bool known;
  };
  for (const Case& c :
       {Case{"32.0 GT/s PCIe", 48, 48, true}, Case{"32 GT/s", 48, 48, true},
        Case{"32.0 GT/s", 48, 12, false}, Case{"16.0 GT/s", 24, 12, false},
        Case{"16 GT/s", 24, 24, true}, Case{"8 GT/s", 12, 12, true}, Case{"5.0 GT/s", 6, 12, false},
        Case{"64 GT/s", 96, 12, false}, Case{"2.5 GT/s PCIe", 3, 3, true}}) {
    ASSERT_TRUE(gigatransfers(c.text)) << c.text;
    EXPECT_DOUBLE_EQ(pciGBps(*gigatransfers(c.text), 16), c.truth) << c.text;
    EXPECT_DOUBLE_EQ(ncclPciLink(c.text, 16).GBps, c.nccl) << c.text;
    EXPECT_EQ(ncclPciLink(c.text, 0).known, c.known) << c.text;
  }
  EXPECT_FALSE(gigatransfers("Unknown"));
  EXPECT_DOUBLE_EQ(nicGBps(-1), 1.25) << "as 10 Gbit/s";
}

TEST(CpuSet, ListAndMaskAreTwoFormsOfOneSet) {
  const auto set = CpuSet::fromList("0-3,64,127-128");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->mask(), "00000001,80000000,00000001,00000000,0000000f");
  EXPECT_EQ(CpuSet::fromMask(set->mask())->list(), "0-3,64,127-128");
  EXPECT_EQ(CpuSet().mask(), "00000000");
  EXPECT_EQ(CpuSet::fromList("")->count(), 0U);
  for (const char* bad : {"1-", "a", "3-1", "9000", "-1"})
    EXPECT_FALSE(CpuSet::fromList(bad)) << bad;
  for (const char* bad : {"", "xyz", "1,,2", "123456789"})
    EXPECT_FALSE(CpuSet::fromMask(bad)) << bad;
}

}  // namespace
}  // namespace autoccl::topo
