#include "store/hccl/lint.h"

#include <gtest/gtest.h>

namespace autoccl::hccl {
namespace {

std::vector<Finding> lint(const std::string& name, const std::string& value) {
  return lintSettings({{name, value, "environment"}});
}

TEST(HcclLint, NamesThatHcclDoesNotHaveAreReportedWithTheTrueWay) {
  for (const char* name :
       {"HCCL_ALGO_THRESHOLD", "HCCL_CHUNK_SIZE", "HCCL_ENABLE_MSG_MERGE", "HCCL_OP_NONBLOCKING"}) {
    const auto found = lint(name, "16");
    ASSERT_EQ(found.size(), 1U) << name;
    EXPECT_EQ(found[0].consequence, "HCCL has no such variable: it is read by nobody");
    EXPECT_FALSE(found[0].fix.empty());
  }
  EXPECT_NE(lint("HCCL_CHUNK_SIZE", "64")[0].fix.find("HCCL_BUFFSIZE (MB)"), std::string::npos);
}

TEST(HcclLint, TheGrammarOfTheAlgorithmIsChecked) {
  for (const char* good : {"level0:NA;level1:ring", "level0:NA;level1:H-D_R;level2:NHR",
                           "allreduce=level0:NA;level1:ring/allgather=level0:NA;level1:NHR"})
    EXPECT_EQ(lint("HCCL_ALGO", good)[0].rule, "hccl-forced") << good;
  for (const char* bad :
       {"ring", "level0:ring", "level1:tree", "level1:ring,level2:NHR", "sum=level1:ring"})
    EXPECT_EQ(lint("HCCL_ALGO", bad)[0].rule, "hccl-value") << bad;
}

TEST(HcclLint, ValuesAreCheckedAgainstTheirRange) {
  struct Case {
    const char *name, *value;
    size_t findings;
  };
  for (const Case& c :
       {Case{"HCCL_BUFFSIZE", "200", 0}, Case{"HCCL_BUFFSIZE", "200M", 1},
        Case{"HCCL_BUFFSIZE", "0", 1}, Case{"HCCL_DETERMINISTIC", "strict", 0},
        Case{"HCCL_DETERMINISTIC", "1", 1}, Case{"HCCL_OP_EXPANSION_MODE", "AIV", 0},
        Case{"HCCL_OP_EXPANSION_MODE", "aiv", 1}, Case{"HCCL_RDMA_QPS_PER_CONNECTION", "33", 1},
        Case{"HCCL_CONNECT_TIMEOUT", "120", 0}, Case{"HCCL_SOMETHING_NEW", "x", 0}})
    EXPECT_EQ(lint(c.name, c.value).size(), c.findings) << c.name << "=" << c.value;
}

TEST(HcclLint, TwoWaysInsideAServerContradictEachOther) {
  const auto found =
      lintSettings({{"HCCL_INTRA_PCIE_ENABLE", "1", "e"}, {"HCCL_INTRA_ROCE_ENABLE", "1", "e"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "hccl-contradiction");
}

TEST(HcclLint, OnlyHcclsVariablesAreTaken) {
  const char* environment[] = {"HCCL_BUFFSIZE=1", "NCCL_X=2", "HCCL_", nullptr};
  const auto settings = settingsOf(environment);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].value, "1");
}

}  // namespace
}  // namespace autoccl::hccl
