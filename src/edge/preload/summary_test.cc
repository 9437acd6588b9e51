#include "edge/preload/summary.h"

#include <gtest/gtest.h>

namespace autoccl::preload {
namespace {

Summary tuned() {
  Summary s;
  s.library = "/opt/lib/libnccl.so.2";
  s.version = 22809;
  s.calls = 1000;
  s.communicators = 3;
  s.plugins = true;
  s.tally = {900, 100, ""};
  return s;
}

bool says(const Summary& summary, const char* text) {
  return summaryLine(summary).text.find(text) != std::string::npos;
}

TEST(SummaryLine, SaysLibraryVersionAndWhatBecameOfTheCalls) {
  EXPECT_EQ(summaryLine(tuned()).text,
            "NCCL 2.28.9 (/opt/lib/libnccl.so.2): 1000 collective calls on 3 communicators; "
            "900 tuned, 100 untouched");
  EXPECT_EQ(summaryLine(tuned()).level, LogLevel::kInfo);
}

TEST(SummaryLine, SaysWhyCallsWereLeftAlone) {
  Summary s = tuned();
  s.tally = {0, 1000, "rank 3 has not joined"};
  EXPECT_TRUE(says(s, "1000 untouched (rank 3 has not joined)"));
}

TEST(SummaryLine, WarnsOfTwoLibraries) {
  Summary s = tuned();
  s.mixed = true;
  EXPECT_EQ(summaryLine(s).level, LogLevel::kWarn);
  EXPECT_TRUE(says(s, "start it with one libnccl.so.2"));
}

TEST(SummaryLine, WarnsOfAnNcclWithoutTunerPlugins) {
  Summary s = tuned();
  s.version = 21805;
  s.plugins = false;
  s.tally = {};
  EXPECT_EQ(summaryLine(s).level, LogLevel::kWarn);
  EXPECT_TRUE(says(s, "NCCL 2.18.5 (/opt/lib/libnccl.so.2) has no tuner plugins"));
}

TEST(SummaryLine, WarnsWhenNcclDidNotLoadOurTunerAndSaysWhatToSet) {
  Summary s = tuned();
  s.plugins = false;
  s.tunerName = "/opt/other.so";
  EXPECT_EQ(summaryLine(s).level, LogLevel::kWarn);
  EXPECT_TRUE(says(s, "NCCL_TUNER_PLUGIN='/opt/other.so'"));
  EXPECT_TRUE(says(s, "set it to libnccl-tuner-autoccl.so"));
}

TEST(SummaryLine, AProgramWithoutCommunicatorsGivesNoCauseForAWarning) {
  Summary s = tuned();
  s.communicators = 0;
  s.plugins = false;
  s.tally = {};
  EXPECT_EQ(summaryLine(s).level, LogLevel::kInfo);
  EXPECT_TRUE(says(s, "nothing to tune"));
}

TEST(SummaryLine, SaysNothingOfAProgramWithoutNccl) {
  EXPECT_EQ(summaryLine(Summary{}).text, "");
}

TEST(SummaryLine, SaysThatAStaticNcclIsTunedByThePluginsAlone) {
  Summary s;
  s.plugins = true;
  s.tally = {5, 1, ""};
  EXPECT_TRUE(says(s, "linked statically"));
  EXPECT_TRUE(says(s, "5 calls tuned, 1 untouched"));
}

}  // namespace
}  // namespace autoccl::preload
