#include <gtest/gtest.h>

#include "base/error.h"
#include "store/nccl/choice.h"
#include "store/nccl/exchange.h"
#include "store/nccl/lint.h"
#include "store/nccl/log.h"
#include "store/nccl/rules.h"
#include "store/nccl/selection.h"
#include "store/nccl/settings.h"

namespace autoccl::nccl {
namespace {

constexpr int kV228 = 22809;

Sources environment(const std::vector<std::pair<std::string, std::string>>& settings) {
  Sources sources;
  for (const auto& [name, value] : settings) sources.all.push_back({name, value, "environment"});
  return sources;
}

/// The findings as one text, for a look at what must be in it.
std::string findingsText(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings)
    text += f.where + ": " + f.what + "; " + f.consequence + "; " + f.fix + "\n";
  return text;
}

std::string lintText(const std::vector<std::pair<std::string, std::string>>& settings,
                     int version = kV228) {
  return findingsText(lintSettings(environment(settings), version));
}

template <class Work>
std::string refusal(const Work& work) {
  try {
    (void)work();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST(NcclSettings, AConfIsReadTheWayNcclReadsIt) {
  const auto read = readConf("#c\n #NCCL_A=1\nNCCL_B = 2\nNCCL_C=3 # x\r\nnothing\n", "f");
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0], (Setting{" #NCCL_A", "1", "f:2"}));
  EXPECT_EQ(read[1], (Setting{"NCCL_B ", " 2", "f:3"}));
  EXPECT_EQ(read[2], (Setting{"NCCL_C", "3 # x", "f:4"}));
}

TEST(NcclSettings, IntegersAreReadInBaseZeroAndTheRestIgnored) {
  EXPECT_EQ(integerAsRead("4M"), 4);
  EXPECT_EQ(integerAsRead("010"), 8);
  EXPECT_EQ(integerAsRead("0x10"), 16);
  EXPECT_EQ(integerAsRead(" 7"), 7);
  EXPECT_EQ(integerAsRead("many"), 0);
}

TEST(NcclLint, SizesThatReadOtherwiseAreShownWithTheNumberToWrite) {
  const std::string suffix = lintText({{"NCCL_BUFFSIZE", "4M"}});
  EXPECT_TRUE(contains(suffix, "reads this as 4;")) << suffix;
  EXPECT_TRUE(contains(suffix, "NCCL_BUFFSIZE=4194304")) << suffix;
  EXPECT_TRUE(contains(lintText({{"NCCL_MAX_NCHANNELS", "010"}}), "reads this as 8;"));
  EXPECT_EQ(lintText({{"NCCL_BUFFSIZE", "4194304"}}), "");
}

TEST(NcclLint, CountsOutOfRangeAreNamed) {
  EXPECT_TRUE(contains(lintText({{"NCCL_NTHREADS", "480"}}), "power of two from 64 to 512"));
  EXPECT_TRUE(contains(lintText({{"NCCL_MIN_NCHANNELS", "112"}}), "from 1 to 64"));
  EXPECT_TRUE(contains(lintText({{"NCCL_BUFFSIZE", "1000000"}}), "power of two"));
}

TEST(NcclLint, AMinimumAboveItsMaximumIsAContradiction) {
  EXPECT_TRUE(
      contains(lintText({{"NCCL_MAX_P2P_NCHANNELS", "16"}, {"NCCL_MIN_P2P_NCHANNELS", "32"}}),
               "the minimum wins"));
}

TEST(NcclLint, TheSourceThatLosesIsNamedWithTheOneThatWins) {
  Sources sources = environment({{"NCCL_ALGO", "ring"}});
  sources.all.push_back({"NCCL_ALGO", "tree", "/etc/nccl.conf:3"});
  const std::string text = findingsText(lintSettings(sources, kV228));
  EXPECT_TRUE(contains(text, "/etc/nccl.conf:3: NCCL_ALGO=tree; has no effect: environment says"))
      << text;
}

TEST(NcclLint, NamesInTheWrongCaseOrWithBlanksHaveNoEffect) {
  EXPECT_TRUE(contains(lintText({{"nccl_algo", "ring"}}), "write NCCL_ALGO=ring"));
  EXPECT_TRUE(contains(lintText({{"NCCL_ALGO ", "ring"}}), "write NCCL_ALGO=ring"));
  EXPECT_TRUE(contains(lintText({{"NCCL_ALGO", " ring"}}), "part of the value"));
}

TEST(NcclLint, WhatCanDeadlockCorruptOrHideAFaultIsSaid) {
  EXPECT_TRUE(contains(lintText({{"NCCL_P2P_USE_CUDA_MEMCPY", "1"}}), "deadlock"));
  EXPECT_EQ(lintText({{"NCCL_P2P_USE_CUDA_MEMCPY", "0"}}), "");
  EXPECT_TRUE(contains(lintText({{"NCCL_IGNORE_NET_MISMATCH", "1"}}), "hang later"));
  EXPECT_TRUE(contains(lintText({{"NCCL_PROTO", "LL128"}}), "corrupted"));
  EXPECT_TRUE(contains(lintText({{"NCCL_PROTO", "^LL"}}), "corrupted"));  // leaves LL128 on
  EXPECT_EQ(lintText({{"NCCL_PROTO", "^LL128"}}), "");
  EXPECT_EQ(lintText({{"NCCL_PROTO", "LL,Simple"}}), "");
}

TEST(NcclLint, ValuesThatAreRightAndStillSurprise) {
  EXPECT_TRUE(contains(lintText({{"NCCL_NET_GDR_LEVEL", "5"}}),
                       "means SYS: GPUDirect RDMA even between sockets"));
  EXPECT_TRUE(contains(lintText({{"NCCL_NET_GDR_LEVEL", "2"}}), "means PXB"));
  EXPECT_TRUE(contains(lintText({{"NCCL_NET_GDR_LEVEL", "pix"}}), "knows no such level"));
  EXPECT_EQ(lintText({{"NCCL_NET_GDR_LEVEL", "PIX"}}), "");
  EXPECT_TRUE(contains(lintText({{"NCCL_P2P_DISABLE", "1"}}), "work-round"));
  EXPECT_EQ(lintText({{"NCCL_P2P_DISABLE", "0"}}), "");
  EXPECT_TRUE(contains(lintText({{"NCCL_SHM_DISABLE", "1"}}), "over the network"));
  EXPECT_TRUE(contains(lintText({{"NCCL_GRAPH_FILE", "/g.xml"}}), "does not start"));
  EXPECT_TRUE(contains(lintText({{"NCCL_SOCKET_IFNAME", "eth0|eth1"}}), "separated by commas"));
  EXPECT_TRUE(contains(lintText({{"NCCL_IB_QPS_PER_CONNECTION", "32"}}), "queue pairs"));
  EXPECT_EQ(lintText({{"NCCL_SOCKET_IFNAME", "eth0,eth1"}}), "");
  EXPECT_TRUE(contains(lintText({{"NCCL_MAX_NCHANNELS", "8"}}), "send/recv and all-to-all"));
  EXPECT_EQ(lintText({{"NCCL_MAX_NCHANNELS", "8"}, {"NCCL_MAX_P2P_NCHANNELS", "8"}}), "");
}

TEST(NcclLint, PluginPathsAreCheckedAgainstTheRelease) {
  EXPECT_TRUE(contains(lintText({{"NCCL_TUNER_PLUGIN", "./libx.so"}}), "absolute path"));
  EXPECT_TRUE(contains(lintText({{"NCCL_TUNER_PLUGIN", "/a/libx.so"}}, 22703), "1732"));
  EXPECT_EQ(lintText({{"NCCL_TUNER_PLUGIN", "/a/libx.so"}}, kV228), "");
}

TEST(NcclChoice, ListsAreReadPerRelease) {
  const Enabled e = enabledBy("ring;allreduce:tree,ring", "^LL128;allreduce:LL128", kV228);
  EXPECT_TRUE(e.algorithms[4][0]);
  EXPECT_FALSE(e.algorithms[2][0]);
  EXPECT_TRUE(e.protocols[4][1]);
  EXPECT_FALSE(e.protocols[4][2]);
  EXPECT_FALSE(e.protocols[0][1]);
  EXPECT_TRUE(contains(refusal([] { return enabledBy("rings", "", kV228); }), "'rings'"));
  EXPECT_TRUE(contains(refusal([] { return enabledBy("allreduce:ring;tree", "", kV228); }),
                       "has no function"));
  EXPECT_TRUE(contains(refusal([] { return enabledBy("allreduce:ring", "", 22304); }), "2.24"));
  EXPECT_NO_THROW((void)enabledBy("rings", "", 22304));
  EXPECT_NO_THROW((void)enabledBy("^", ";:", 22304));
}

TEST(NcclChoice, APrefixedListBesideAPlainOneLeavesTheOthersNothingFrom231On) {
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"NCCL_ALGO", "allreduce:tree"}, {"NCCL_PROTO", "simple"}};
  EXPECT_EQ(lintText(settings, 23007), "");
  EXPECT_TRUE(contains(lintText(settings, 23102), "nothing is left for Broadcast, Reduce"));
  EXPECT_EQ(lintText({{"NCCL_ALGO", "ring,tree;allreduce:tree"}, {"NCCL_PROTO", "simple"}}, 23102),
            "");
}

TEST(NcclChoice, TreeAloneLeavesOnlyAllReduce) {
  EXPECT_TRUE(contains(lintText({{"NCCL_ALGO", "tree"}}),
                       "nothing is left for Broadcast, Reduce, AllGather, ReduceScatter"));
  EXPECT_TRUE(contains(lintText({{"NCCL_ALGO", "RING|TREE"}}), "separate with commas"));
}

TEST(NcclRules, WhatIsWrittenIsReadBack) {
  std::vector<Rule> rules(3);
  rules[0] = {4, 0, 65536, 0, 0, 2, 1, -1, -1, 1, 2};
  rules[1] = {4, 65537, UINT64_MAX, 1, 2, -1, 2, 16, 4, 0, 3};
  rules[2] = {2, 0, 4294967296, 6, 2, 64, -1, -1, -1, -1, 4};
  EXPECT_EQ(readRules(writeRules(rules), "r.csv"), rules);
}

TEST(NcclRules, EightNineAndTenColumnsAreTaken) {
  const auto rules = readRules(
      "# note\r\nallgather,0,10,ring,simple,4,2,-1\r\n\nreduce,0,1,ring,ll,-1,-1,-1,3\n"
      "broadcast,0,1,ring,ll,-1,-1,-1,-1,0",
      "r");
  ASSERT_EQ(rules.size(), 3U);
  EXPECT_EQ(rules[0].line, 2);
  EXPECT_EQ(rules[1].pipeOps, 3);
  EXPECT_EQ(rules[2].registered, 0);
}

TEST(NcclRules, WhatTheExampleReaderTakesInSilenceIsRefusedByLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"AllReduce,0,1,tree,ll128,1,-1,-1", "'AllReduce' is no collective"},
      {"all_gather,0,1,ring,ll,1,-1,-1", "'all_gather' is no collective"},
      {"allreduce,0,1,Tree,ll,1,-1,-1", "'Tree' is no algorithm"},
      {"allreduce,,1,tree,ll,1,-1,-1", "min_bytes is ''"},
      {"allreduce,0,1M,tree,ll,1,-1,-1", "max_bytes is '1M'"},
      {"allreduce,0, 1,tree,ll,1,-1,-1", "max_bytes is ' 1'"},
      {"  # indented", "has 1 fields"},
      {"collective,min,max,algo,proto,channels,nodes,ranks", "'collective' is no collective"},
      {"\xef\xbb\xbf"
       "allgather,0,1,ring,ll,1,-1,-1",
       "is no collective"},
      {"allreduce,2,1,tree,ll,1,-1,-1", "above max_bytes"},
      {"allreduce,0,1,tree,ll,0,-1,-1", "channels 0"},
      {"allreduce,0,1,tree,ll,65,-1,-1", "channels 65"},
      {"allreduce,0,18446744073709551616,tree,ll,1,-1,-1", "max_bytes is"},
      {"allreduce,0,1,tree,ll,1,-1,-1,-1,-1,7", "has 11 fields"}};
  for (const auto& [line, reason] : cases) {
    const std::string text = std::string("\n") + line + "\n";
    const std::string said = refusal([&] { return readRules(text, "r.csv"); });
    EXPECT_TRUE(said.starts_with("r.csv:2: ")) << line << " gave " << said;
    EXPECT_TRUE(contains(said, reason)) << line << " gave " << said;
  }
}

TEST(NcclRules, LintFindsGapsOverlapsAndWhatNoCallReaches) {
  const std::string text =
      findingsText(lintRules(readRules("allreduce,0,100,ring,ll,-1,-1,-1\n"
                                       "allreduce,200,4294967295,ring,simple,-1,-1,-1\n"
                                       "allreduce,50,90,tree,ll,-1,-1,-1\n"
                                       "allreduce,90,150,tree,ll,-1,-1,-1\n"
                                       "broadcast,0,18446744073709551615,tree,ll128,-1,-1,-1\n",
                                       "r"),
                             "r"));
  EXPECT_TRUE(contains(text, "r:3: no call can reach this rule; line 1 matches first")) << text;
  EXPECT_TRUE(contains(text, "r:2: allreduce from 151 to 199 bytes has no rule")) << text;
  EXPECT_TRUE(contains(text, "r:4: allreduce from 90 bytes has an earlier rule too")) << text;
  EXPECT_TRUE(contains(text, "r:2: allreduce of 4294967296 bytes and more has no rule")) << text;
  EXPECT_TRUE(contains(text, "r:5: tree/ll128 does not exist for broadcast")) << text;
  EXPECT_TRUE(contains(text, "r:5: LL128 is forced")) << text;
}

ProfileEntry entry(uint64_t bytes, const char* config, double gainLow) {
  ProfileEntry e;
  e.task.nRanks = 8;
  e.task.bytes = bytes;
  e.task.dtype = kAnyDataType;
  e.task.op = kAnyReduceOp;
  e.defaultConfig = kUntouched;
  e.config = parseConfig(config);
  e.gainLow = gainLow;
  e.samples = 32;
  return e;
}

Profile won() {
  Profile profile;
  profile.entries = {entry(1 << 16, "ring/ll/auto nc=4 nt=auto c=auto", 1.1),
                     entry(1 << 20, "untouched", 1),
                     entry(1 << 24, "tree/simple/auto nc=auto nt=auto c=auto", 1.02),
                     entry(1 << 26, "ring/simple/auto nc=8 nt=auto c=auto", 1.2),
                     entry(1 << 28, "ring/simple/auto nc=16 nt=auto c=auto", 0.99)};
  return profile;
}

TEST(NcclExchange, OnlyCertainWinnersBecomeRulesAndTheirRangesMeet) {
  std::vector<std::string> left;
  const std::vector<Rule> rules = rulesOf(won(), left);
  ASSERT_EQ(rules.size(), 3U);
  EXPECT_EQ(rules[0].minBytes, 1U << 16);
  EXPECT_EQ(rules[0].maxBytes, 1U << 18);
  EXPECT_EQ(rules[0].channels, 4);
  EXPECT_EQ(rules[1].minBytes, (1U << 22) + 1);
  EXPECT_EQ(rules[1].maxBytes + 1, rules[2].minBytes);
  EXPECT_EQ(rules[1].channels, -1);
  EXPECT_EQ(rules[2].maxBytes, 1U << 27);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_TRUE(contains(left[0], "keeps the default"));
  EXPECT_TRUE(contains(left[1], "cannot be told from noise"));
}

TEST(NcclExchange, RulesComeBackAsChoicesToTryAndLl128StaysNccls) {
  const auto rules = readRules(
      "allreduce,0,65536,ring,ll,4,-1,8\nallreduce,0,1048576,tree,simple,-1,-1,-1\n"
      "allgather,0,18446744073709551615,ring,ll128,-1,-1,8\n",
      "r");
  const auto entries = entriesOf(rules, 8, "nccl 2.28.9");
  ASSERT_EQ(entries.size(), 11U);  // 1K … 64K by the first, 128K … 1M by the second
  EXPECT_EQ(toText(entries[0].config), "ring/ll/auto nc=4 nt=auto c=auto");
  EXPECT_EQ(entries[6].task.bytes, 65536U);
  EXPECT_EQ(entries[7].config.algorithm, Algorithm::kTree);
  EXPECT_EQ(entries[7].config.channels, 0);
  EXPECT_EQ(entriesOf(rules, 0, "").size(), 7U);  // ranks unknown for the second
}

TEST(NcclExchange, TheEnvironmentAllowsTheWinnersAndPassesOurOwnLint) {
  Profile profile = won();
  const std::string text = environmentOf(profile);
  EXPECT_EQ(text, "NCCL_ALGO=allreduce:tree,ring\nNCCL_PROTO=allreduce:ll,simple\n");
  Sources sources;
  sources.all = readConf(text, "f");
  for (const int version : {kV228, 23007, 23102})
    EXPECT_EQ(findingsText(lintSettings(sources, version)), "");
  profile.entries.push_back(entry(1 << 22, "ring/ll128/auto nc=8 nt=auto c=auto", 1.5));
  EXPECT_EQ(environmentOf(profile), "");
}

TEST(NcclExchange, CallConfigsNameExactlyThePair) {
  EXPECT_TRUE(callConfigsOf(won()).starts_with(
      "allreduce 65536 262144 8 RING_LL+^RING_LL128 minCTAs=maxCTAs=4\nallreduce 4194305"));
}

TEST(NcclSelection, AllowsExactlyThePairAskedFor) {
  EXPECT_EQ(selectionFor(1, 0), "RING_LL+^RING_LL128");
  EXPECT_EQ(selectionFor(2, 2), "");
  for (int a = 0; a < 7; ++a)
    for (int p = 0; p < 3; ++p) {
      const std::string text = selectionFor(a, p);
      EXPECT_TRUE(text.empty() || selected(text).size() == 1) << text;
    }
  EXPECT_EQ(selected("nvls").size(), 2U);
  EXPECT_EQ(selected("RING_LL,TREE_LL+^TREE_LL128").size(), 3U);
  EXPECT_TRUE(contains(refusal([] { return selected("RING_LL+^BUS"); }), "'^BUS'"));
  EXPECT_TRUE(contains(refusal([] { return selected(""); }), "begins no name"));
}

TEST(NcclLog, ATunerThatIsNotActiveIsNamedWithItsCure) {
  const Log log = readLog(
      "n1:1:1 [0] NCCL INFO cudaDriverVersion 13000\nsomething else\n"
      "NCCL version 2.27.3+cuda12.9\n"
      "n1:1:2 [0] NCCL INFO TUNER/Plugin: libnccl-tuner-./libx.so.so: cannot open\n"
      "n1:1:3 [1] NCCL INFO TUNER/Plugin: Could not find: ./libx.so. Using internal tuner plugin.\n"
      "n1:1:4 [1] NCCL INFO TUNER/Plugin: Could not find: ./libx.so. Using internal tuner "
      "plugin.\n",
      "job.log");
  EXPECT_EQ(log.version, 22703);
  EXPECT_TRUE(log.sawTuner);
  EXPECT_EQ(log.tuner, "");
  ASSERT_EQ(log.findings.size(), 2U);
  EXPECT_EQ(log.findings[0].where, "job.log:4");
  EXPECT_EQ(log.lines, 6U);
}

TEST(NcclLog, APluginFoundInTheEndTakesEarlierLookUpsBack) {
  const Log log = readLog(
      "NCCL INFO TUNER/Plugin: Failed to find ncclTunerPlugin_v5 symbol, using internal tuner "
      "instead.\nNCCL INFO TUNER/Plugin: Using tuner plugin AutoCCL\n",
      "l");
  EXPECT_EQ(log.tuner, "AutoCCL");
  EXPECT_TRUE(log.findings.empty());
}

TEST(NcclLog, VersionsAreReadInAllTheirForms) {
  EXPECT_EQ(versionOf("2.28.9"), 22809);
  EXPECT_EQ(versionOf("2.30.7-1+cuda13.0"), 23007);
  EXPECT_EQ(versionOf("2.28"), 0);
  EXPECT_EQ(versionOf("two"), 0);
  EXPECT_EQ(versionText(22809), "2.28.9");
}

}  // namespace
}  // namespace autoccl::nccl
