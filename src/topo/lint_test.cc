#include "topo/lint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "topo/nccl_check.h"
#include "topo/nccl_complete.h"
#include "topo/nccl_env.h"
#include "topo/nccl_xml.h"
#include "topo/summary.h"
#include "topo/testing/fixtures.h"

namespace autoccl::topo {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, text.npos) << what;
  return at == text.npos ? text : text.replace(at, what.size(), by);
}

std::string replacedAll(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::vector<Finding> lint(const std::string& text, std::vector<int> gpus = {}) {
  return lintHost(readNcclXml(text, "f"), "f", std::move(gpus));
}

/// The finding of this rule, or one that says so.
Finding of(const std::vector<Finding>& all, const std::string& rule) {
  const auto at = std::ranges::find(all, rule, &Finding::rule);
  return at == all.end() ? Finding{"none", "", "", ""} : *at;
}

std::string refusals(const std::string& text) {
  std::string out;
  for (const Finding& f : ncclRefusals(text, "f")) out += f.where + ": " + f.what + "\n";
  return out;
}

TEST(TopoLint, ADumpOfASoundMachineHasNothingToSayAgainstIt) {
  EXPECT_TRUE(lint(fixtures::kDump).empty()) << lint(fixtures::kDump).front().what;
  EXPECT_EQ(refusals(fixtures::kDump), "");
  EXPECT_EQ(refusals(fixtures::kRccl), "");
}

// Case 43: an 8-GPU file with a spelling that NCCL does not know.
TEST(TopoLint, ASpellingThatNcclDoesNotKnowCostsThreeQuartersOfTheLink) {
  const Finding f =
      of(lint(replaced(fixtures::kDump, "32.0 GT/s PCIe", "32.0 GT/s")), "topo-link-speed");
  EXPECT_EQ(f.where, "f:3");
  EXPECT_EQ(f.what, "0000:10:00.0: link_speed=\"32.0 GT/s\"");
  EXPECT_EQ(f.consequence, "that is 48 GB/s; NCCL does not know the spelling and takes 12 GB/s");
  EXPECT_EQ(f.fix, "write link_speed=\"32.0 GT/s PCIe\"");
}

// Case 45: "Attribute arch of node cpu not found", with the GPUs of one socket only.
TEST(TopoLint, ASocketWithoutArchStopsAJobThatHasNoGpuThere) {
  const std::string text =
      replaced(fixtures::kDump, "affinity=\"0000ff00\" arch=\"x86_64\" vendor=\"GenuineIntel\"",
               "affinity=\"0000ff00\"");
  const Finding half = of(lint(text, {0, 1}), "topo-socket");
  EXPECT_EQ(half.where, "f:15");
  EXPECT_EQ(half.what, "NUMA node 1 has no arch");
  EXPECT_TRUE(half.consequence.starts_with("\"Attribute arch of node cpu not found\""));
  const Finding whole = of(lint(text), "topo-socket");
  EXPECT_EQ(whole.consequence, "NCCL fills it in from the machine it runs on");
  EXPECT_EQ(refusals(text), "f:15: <cpu> has no attribute arch\n");
}

// Case 46: a file near the reader's 256 elements.
TEST(TopoLint, AFileNearTheReadersLimitIsNamed) {
  std::string devices;
  for (int i = 0; i < 250; ++i)
    devices += "<pci busid=\"0000:20:" + std::to_string(10 + i) +
               ".0\" class=\"0x010000\" "
               "link_speed=\"\" link_width=\"0\"/>\n";
  const std::string text = replaced(fixtures::kDump, "</cpu>", devices + "</cpu>");
  EXPECT_EQ(refusals(text), "f:257: more than 255 elements\n");
  EXPECT_EQ(of(lint(text), "topo-element-cap").what,
            "273 elements, 273 with what NCCL adds for 4 ranks");
}

// Case 49: two NICs that look as if behind one link.
TEST(TopoLint, TwoNicsBehindOneLinkAreOneChannel) {
  const std::string second =
      R"(<pci busid="0000:14:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"><nic><net name="mlx5_9" dev="9" speed="400000" guid="0x9" port="1"/></nic></pci></pci>
  </cpu>)";
  const Finding f =
      of(lint(replaced(fixtures::kDump, "    </pci>\n  </cpu>", second)), "topo-shared-uplink");
  EXPECT_EQ(f.where, "f:3");
  EXPECT_EQ(f.what, "mlx5_0, mlx5_9 share the link of 0000:10:00.0: 48 GB/s for 100 GB/s");
  EXPECT_EQ(f.consequence, "NCCL makes one channel of them where you expect 2");
}

// Case 50: a subgroup whose GPUs have one nearest NIC.
TEST(TopoLint, TwoGpusOfASubgroupWithOneNicAreNamed) {
  const Finding f = of(lint(fixtures::kDump, {0, 1}), "topo-nic-order");
  EXPECT_EQ(f.what, "GPU0 and GPU1 have the same nearest NIC, mlx5_0");
  EXPECT_EQ(of(lint(fixtures::kDump, {0, 2}), "topo-nic-order").where, "none");
}

TEST(TopoLint, TwoGpusWithTwoNicsBehindOneSwitchHaveOneEach) {
  const std::string second =
      "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"100000\" guid=\"0x1\" port=\"1\"/>"
      "<net name=\"mlx5_9\" dev=\"9\" speed=\"100000\" guid=\"0x9\" port=\"1\"/></nic>";
  std::string text = fixtures::kDump;
  const size_t from = text.find("<nic>"), to = text.find("</nic>") + 6;
  EXPECT_EQ(of(lint(text.replace(from, to - from, second), {0, 1}), "topo-nic-order").where,
            "none");
}

TEST(TopoLint, NicsAgainstTheOrderOfTheGpusAreNamed) {
  std::string text = replaced(fixtures::kDump, "name=\"mlx5_0\"", "name=\"b\"");
  Host host = readNcclXml(text, "f");
  std::swap(host.nics[0], host.nics[1]);
  EXPECT_EQ(of(lintHost(host, "f", {0, 2}), "topo-nic-order").what,
            "the NICs are in the opposite order of the GPUs");
}

// Case 51: the same GPU on different rails of two hosts.
TEST(TopoLint, AGpuOnAnotherRailThanOnTheNextHostIsNamed) {
  const Host a = readNcclXml(fixtures::kDump, "a");
  const Host b =
      readNcclXml(replaced(replaced(fixtures::kDump, "guid=\"0x1\"", "guid=\"0x1\" rail=\"1\""),
                           "guid=\"0x2\"", "guid=\"0x2\" rail=\"0\""),
                  "b");
  const auto found = lintRails({{"a", &a}, {"b", &b}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].where, "b");
  EXPECT_EQ(found[0].what, "GPU 0 is on rail 1, in a on rail 0");
  EXPECT_TRUE(lintRails({{"a", &a}, {"a", &a}}).empty());
}

// Case 53: ACS above GPUs.
TEST(TopoLint, RedirectsAboveAGpuAreNamedWithTheirCure) {
  Host host = readNcclXml(fixtures::kDump, "f");
  host.pci[0].acs = 1;
  host.iommu = "on";
  const auto found = lintHost(host, "f");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].what, "switch 0000:10:00.0 above a GPU redirects peer requests (ACS)");
  EXPECT_TRUE(found[0].fix.starts_with("turn ACS off: setpci -s 0000:10:00.0"));
  EXPECT_EQ(found[1].fix, "start the kernel with iommu=pt");
}

TEST(TopoLint, FaultsOfRealFilesAreNamed) {
  const std::string dump = fixtures::kDump;
  struct Case {
    std::string text, rule, what;
  };
  const std::string nvlink = "target=\"0000:80:00.0\" count=\"18\" tclass=\"0x068000\"";
  for (const Case& c :
       {Case{replaced(dump, nvlink, "target=\"0000:11:00.0\" count=\"1\" tclass=\"0x030200\""),
             "topo-gpu-links", "GPU0 has 1 links, another GPU 18"},
        Case{replacedAll(dump, nvlink, "target=\"0000:11:00.0\" count=\"1\" tclass=\"0x030200\""),
             "topo-gpu-links", "GPU0 has a link to itself"},
        Case{replaced(dump, "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"",
                      "link_speed=\"2.5 GT/s PCIe\" link_width=\"1\""),
             "topo-slow-switch",
             "switch 0000:10:00.0 goes up at 0.1875 GB/s, a device below it at 48 GB/s"},
        Case{replaced(dump, "link_width=\"16\"", "link_width=\"0\""), "topo-link-speed",
             "0000:10:00.0: the link has no width"},
        Case{replaced(dump, "speed=\"400000\"", "speed=\"-1\""), "topo-nic", "mlx5_0 has no speed"},
        Case{replaced(dump, "guid=\"0x2\"", "guid=\"0x1\""), "topo-nic",
             "mlx5_1 has the guid of mlx5_0"},
        Case{replaced(dump, "0000:91:00.0", "0000:11:00.0"), "topo-twice",
             "bus id 0000:11:00.0 stands twice, first at f:4"},
        Case{replaced(dump, "0000ff00", "000000f0"), "topo-affinity",
             "CPUs 4-7 are in two NUMA nodes"},
        Case{replaced(dump, "numaid=\"1\"", "numaid=\"-1\""), "topo-socket",
             "a NUMA node without number"},
        Case{replaced(dump, "rank=\"0\" ", ""), "topo-missing", "GPU0 has no rank"}})
    EXPECT_EQ(of(lint(c.text), c.rule).what, c.what);
}

TEST(TopoLint, NicsOfOneSubnetOfALiveHostAreNamed) {
  Host host = readNcclXml(fixtures::kDump, "f");
  host.nics[0].address = "10.0.1.7/24";
  host.nics[1].address = "10.0.1.8/24";
  host.nics[1].state = "DOWN";
  const auto found = lintHost(host, "f");
  EXPECT_EQ(of(found, "topo-subnet").what, "mlx5_0 and mlx5_1 are on one subnet, 10.0.1.0/24");
  EXPECT_EQ(of(found, "topo-nic").what, "mlx5_1 is DOWN");
  host.nics[1].address = "10.0.2.8/24";
  EXPECT_EQ(of(lintHost(host, "f"), "topo-subnet").where, "none");
}

TEST(NcclCheck, IsAsStrictAsNcclsReader) {
  const std::string dump = fixtures::kDump;
  struct Case {
    std::string text, fault;
  };
  for (const Case& c : {
           Case{"<?xml version=\"1.0\"?>\n" + dump, "f:1: a prolog (<?xml …?>)\n"},
           Case{replaced(dump, "  <cpu", "\t<cpu"),
                "f:2: a tab between elements; blanks alone are passed over\n"},
           Case{replaced(dump, " numaid", "\n numaid"),
                "f:3: a line end or tab between the attributes of <cpu>, or something else than "
                "'>' at "
                "its end\n"},
           Case{replaced(dump, "version=\"1\"", "version=\"3\""), "f:1: version is 3\n"},
           Case{replaced(dump, "arch=\"x86_64\"", "arch='x86_64'"), ""},
           Case{replaced(dump, " vendor=\"GenuineIntel\"", ""),
                "f:2: <cpu> has no attribute vendor\n"},
           Case{replaced(dump, " modelid=\"143\"", ""), "f:2: <cpu> has no attribute modelid\n"},
           Case{replaced(dump, " class=\"0x060400\"", ""), "f:3: <pci> has no attribute class\n"},
           Case{replaced(dump, " link_width=\"16\"", ""),
                "f:3: <pci> has no attribute link_width\n"},
           Case{replaced(dump, " sm=\"90\"", ""), "f:5: <gpu> has no attribute sm\n"},
           Case{replaced(dump, " tclass=\"0x068000\"", ""),
                "f:5: <nvlink> has no attribute tclass\n"},
           Case{replaced(dump, " rank=\"0\"", ""),
                "f:5: <nvlink> of a GPU that NCCL passes over, as it has no rank\n"},
           Case{replaced(dump, "target=\"0000:80:00.0\" count=\"18\" tclass=\"0x068000\"",
                         "count=\"18\" tclass=\"0x030200\""),
                "f:5: <nvlink> has no attribute target\n"},
           Case{dump.substr(0, dump.size() - 11), "f:27: <system> is never closed\n"},
           Case{"", "f: there is no <system>\n"},
           Case{replaced(dump, "<nic>", "<nic><!-- a=b -->"), ""},
           Case{replaced(dump, "<nic>", "<nic><!--a=b-->"),
                "f:11: '=' inside a name, or the first word of a comment\n"},
           Case{replaced(
                    dump,
                    "0x030200\" vendor=\"0x10de\" device=\"0x2330\" subsystem_vendor=\"0x10de\" "
                    "subsystem_device=\"0x1\" link_speed=\"32.0 GT/s PCIe\" "
                    "link_width=\"16\">\n        <gpu dev=\"0\"",
                    "0x120000\" link_speed=\"\" link_width=\"16\">\n        <gpu dev=\"0\""),
                "f:5: a GPU inside a device of class 0x120000, which NCCL takes for a switch\n"},
           Case{replaced(dump, "host_hash=\"0x1\"", "name=\"" + std::string(300, 'x') + "\""),
                "f:2: a value is longer than 254 characters\n"},
       })
    EXPECT_EQ(refusals(c.text), c.fault);
}

TEST(Export, WhatIsWrittenObeysEveryRuleOfNcclsReader) {
  for (const char* text : {fixtures::kDump, fixtures::kSkeleton, fixtures::kRccl}) {
    for (const XmlDialect dialect : {XmlDialect::kNccl, XmlDialect::kRccl}) {
      Host host = readNcclXml(text, "f");
      (void)completeForNccl(host, "f", std::nullopt, dialect);
      EXPECT_EQ(refusals(writeNcclXml(host, dialect)), "") << writeNcclXml(host, dialect);
    }
  }
}

TEST(Export, SaysWhatItFilledInAndRefusesToInventACpu) {
  Host host = readNcclXml(fixtures::kSkeleton, "f");
  const auto said = completeForNccl(host, "f", std::nullopt, XmlDialect::kNccl);
  ASSERT_EQ(said.size(), 4U);
  EXPECT_EQ(said[0],
            "f:11: NUMA node 1 is written as x86_64 GenuineIntel, as another socket of the file");
  EXPECT_EQ(said[2],
            "f:12: 0000:00:16.0 has no link_speed; written as 8.0 GT/s PCIe, which NCCL assumes");
  Host bare = readNcclXml("<system version=\"1\"><cpu numaid=\"0\"/></system>", "f");
  EXPECT_THROW((void)completeForNccl(bare, "f", std::nullopt, XmlDialect::kNccl), Error);
  EXPECT_EQ(completeForNccl(bare, "f", cpuFactsOf("arm64"), XmlDialect::kNccl).size(), 1U);
  EXPECT_EQ(bare.numa[0].arch, "arm64");
  for (const char* bad : {"", "x86", "x86_64", "x86_64,GenuineIntel", "arm64,a,1,2,3"})
    EXPECT_THROW((void)cpuFactsOf(bad), Error) << bad;
}

TEST(Export, CorrectsASpellingThatNcclDoesNotKnow) {
  Host host = readNcclXml(replaced(fixtures::kDump, "32.0 GT/s PCIe", "32.0 GT/s"), "f");
  const auto said = completeForNccl(host, "f", std::nullopt, XmlDialect::kNccl);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(host.pci[0].linkSpeed, "32.0 GT/s PCIe");
}

TEST(Export, VariablesAreOnlyThoseThatFollowFromTheHost) {
  Host host = readNcclXml(fixtures::kDump, "f");
  EXPECT_EQ(ncclEnvironment(host, {}), "# NCCL's own choice needs no line here\n");
  host.nics[1].state = "DOWN";
  const std::string one = ncclEnvironment(host, {22809, "/etc/topo.xml", false});
  EXPECT_NE(one.find("\nNCCL_TOPO_FILE=/etc/topo.xml\n"), one.npos) << one;
  EXPECT_NE(one.find("\nNCCL_IB_HCA==mlx5_0:1\n"), one.npos) << one;
  host.nics[0].rail = 3;
  host.nics[1].state = "ACTIVE";
  host.nics[1].rail = 4;
  const std::string rails = ncclEnvironment(host, {23004, "", true});
  EXPECT_NE(rails.find("NCCL_IB_HCA==mlx5_0:1:3,mlx5_1:1:4\n"), rails.npos) << rails;
  EXPECT_NE(rails.find("NCCL_CROSS_NIC=0\n"), rails.npos) << rails;
}

TEST(Summary, EqualMachinesHaveEqualKeys) {
  const Host host = readNcclXml(fixtures::kDump, "f");
  EXPECT_EQ(summaryOf(host),
            "4 x GPU of sm 90, NVLink x18 to a switch, 2 NICs of 400 Gbit/s, 2 NUMA nodes");
  EXPECT_EQ(shapeKey(host), shapeKey(readNcclXml(replaced(fixtures::kDump, "mlx5_0", "ib7"), "f")));
  EXPECT_NE(shapeKey(host),
            shapeKey(readNcclXml(replaced(fixtures::kDump, "count=\"18\"", "count=\"17\""), "f")));
}

}  // namespace
}  // namespace autoccl::topo
