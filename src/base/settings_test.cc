#include "base/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/error.h"

namespace autoccl {
namespace {

/// Sets a variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string refusalOf(const char* name) {
  try {
    (void)setting(name);
  } catch (const Error& error) {
    return error.code() == ErrorCode::kUsage ? error.what() : "";
  }
  return "";
}

TEST(Settings, UnsetGivesTheDefaultAndSaysSo) {
  unsetenv("AUTOCCL_BUDGET");
  EXPECT_EQ(setting("AUTOCCL_BUDGET").value, "2");
  EXPECT_FALSE(setting("AUTOCCL_BUDGET").fromEnvironment);
  const Variable empty("AUTOCCL_BUDGET", "");
  EXPECT_FALSE(setting("AUTOCCL_BUDGET").fromEnvironment);
}

TEST(Settings, AValueFromTheEnvironmentIsReadByItsType) {
  const Variable budget("AUTOCCL_BUDGET", "0.5"), chunk("AUTOCCL_MAX_CHUNK", "64KiB"),
      tune("AUTOCCL_TUNE", "1");
  EXPECT_EQ(settingNumber("AUTOCCL_BUDGET"), 0.5);
  EXPECT_EQ(settingSize("AUTOCCL_MAX_CHUNK"), 65536u);
  EXPECT_TRUE(settingSwitch("AUTOCCL_TUNE"));
  EXPECT_TRUE(setting("AUTOCCL_TUNE").fromEnvironment);
}

TEST(Settings, EveryBadValueIsRefusedWithItsNameAndTheAllowedOnes) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> bad{
      {"AUTOCCL_BUDGET", {"101", "-1", "2%", "nan", "inf", " 2", "0x10", "two"}},
      {"AUTOCCL_MAX_CHUNK", {"1", "4T", "4 K", "2G", "99999999999999999999"}},
      {"AUTOCCL_TUNE", {"yes", "2", "true", "0|1"}},
      {"AUTOCCL_POLICY", {"best", "Paper", "paper|artifact"}},
      {"AUTOCCL_ID",
       {"a b", "x/../y", "01234567890123456789012345678901234567890123456789012345678901234"}},
  };
  for (const auto& [name, values] : bad) {
    for (const char* value : values) {
      const Variable variable(name, value);
      const std::string text = refusalOf(name);
      EXPECT_NE(text.find(name), std::string::npos) << name << "=" << value << ": " << text;
      EXPECT_NE(text.find("allowed: "), std::string::npos) << text;
    }
  }
}

TEST(Settings, ANumberThatIsNeededAndUnsetIsNamed) {
  unsetenv("AUTOCCL_RANK");
  EXPECT_THROW((void)settingNumber("AUTOCCL_RANK"), Error);
}

TEST(Settings, UnknownVariablesAreNamedAndKnownOnesAreNot) {
  const Variable typo("AUTOCCL_BUGDET", "3"), known("AUTOCCL_BUDGET", "3");
  EXPECT_EQ(unknownSettings(), std::vector<std::string>{"AUTOCCL_BUGDET"});
}

TEST(Settings, EveryRowIsWholeAndItsDefaultIsAllowed) {
  std::set<std::string_view> names;
  for (const SettingRow& row : settingRows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_FALSE(row.allowed.empty()) << row.name;
    EXPECT_FALSE(row.effect.empty()) << row.name;
    if (row.fallback.empty()) continue;
    const Variable variable(std::string(row.name).c_str(), std::string(row.fallback).c_str());
    EXPECT_NO_THROW((void)setting(row.name)) << row.name;
  }
}

}  // namespace
}  // namespace autoccl
