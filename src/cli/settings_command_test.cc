#include "cli/settings_command.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "cli/output.h"

namespace autoccl::cli {
namespace {

TEST(SettingsCommand, ThePageInDocsIsCurrent) {
  EXPECT_EQ(readInput(AUTOCCL_SOURCE_DIR "/docs/settings.md"), settingsMarkdown())
      << "run: autoccl settings --markdown > docs/settings.md";
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
