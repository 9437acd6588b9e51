#include "cli/settings_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "base/error.h"
#include "base/settings.h"
#include "cli/commands.h"
#include "cli/help_format.h"
#include "cli/output.h"
#include "tune/policy.h"

namespace autoccl::cli {
namespace {

TEST(SettingsCommand, ThePageInDocsIsCurrent) {
  EXPECT_EQ(readInput(AUTOCCL_SOURCE_DIR "/docs/settings.md"), settingsMarkdown())
      << "run: autoccl settings --markdown > docs/settings.md";
}

TEST(Help, ThePageInDocsIsCurrent) {
  EXPECT_EQ(readInput(AUTOCCL_SOURCE_DIR "/docs/cli.md"), helpMarkdown())
      << "run: autoccl --help-markdown > docs/cli.md";
}

TEST(Help, RangesAndDefaultsAreSentencesAndNoLineIsOverlong) {
  CLI::App app{"", "x"};
  app.formatter(std::make_shared<HelpFormat>());
  int count = 3;
  std::string file, word;
  app.add_option("--count", count, "How many.")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--word", word, "One or the other, " + std::string(80, 'x') + " or none.")
      ->check(CLI::IsMember({"a", "b"}))
      ->required()
      ->type_name("WORD");
  app.add_option("FILE", file, "What to read.")->required()->type_name("FILE");
  const std::string help = app.help();
  EXPECT_NE(help.find("  --count N                   How many. From 1 to 64. Default: 3.\n"),
            std::string::npos)
      << help;
  EXPECT_NE(help.find("  --word WORD                 One or the other,\n"), std::string::npos)
      << help;
  EXPECT_NE(help.find(" or none. Needed.\n"), std::string::npos) << help;
  EXPECT_NE(help.find("  FILE                        What to read.\n"), std::string::npos) << help;
}

TEST(Help, EveryOptionOfEveryCommandIsExplained) {
  CLI::App app{"", "autoccl"};
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.help));
    command.add(*sub);
    for (const CLI::Option* option : sub->get_options())
      EXPECT_TRUE(option->get_group().empty() || !option->get_description().empty())
          << command.name << " " << option->get_name();
  }
}

TEST(SettingsCommand, EveryVariableNamedInTheSourceIsInTheTable) {
  const std::regex name("\"(AUTOCCL_[A-Z_]+)\"");
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(AUTOCCL_SOURCE_DIR "/src")) {
    const std::string path = file.path();
    if (!path.ends_with(".cc") || path.ends_with("_test.cc")) continue;
    const std::string text = readInput(path);
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
      const auto& rows = settingRows();
      EXPECT_TRUE(std::any_of(rows.begin(), rows.end(),
                              [&](const auto& r) { return r.name == (*at)[1].str(); }))
          << path << ": " << (*at)[1];
    }
  }
}

TEST(SettingsCommand, ThePoliciesAllowedAreThePoliciesThereAre) {
  std::string names;
  for (const std::string_view name : policyNames())
    names += (names.empty() ? "" : "|") + std::string(name);
  EXPECT_EQ(settingAllowedText("AUTOCCL_POLICY"), names);
}

TEST(SettingsCommand, AMisspeltVariableIsNamedWithTheNearestOne) {
  setenv("AUTOCCL_BUGDET", "2", 1);
  std::string said;
  try {
    checkEnvironment();
  } catch (const Error& e) {
    said = e.what();
  }
  unsetenv("AUTOCCL_BUGDET");
  EXPECT_NE(said.find("AUTOCCL_BUGDET"), std::string::npos) << said;
  EXPECT_NE(said.find("AUTOCCL_BUDGET?"), std::string::npos) << said;
}

}  // namespace
}  // namespace autoccl::cli
