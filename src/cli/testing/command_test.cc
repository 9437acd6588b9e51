#include "cli/testing/command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/output.h"

namespace autoccl::cli {
namespace {

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

TestFolder::TestFolder() {
  std::string name = testing::TempDir() + "autoccl-testXXXXXX";
  path_ = mkdtemp(name.data());
}

TestFolder::~TestFolder() {
  std::filesystem::remove_all(path_);
}

Output runAutoccl(const std::vector<std::string>& words, const Variables& variables) {
  const TestFolder folder;
  std::string line = "env HOME=/nonexistent XDG_STATE_HOME=" + quoted(folder / "state");
  for (const auto& [name, value] : variables) line += " " + name + "=" + quoted(value);
  line += " " AUTOCCL_COMMAND;
  for (const std::string& word : words) line += " " + quoted(word);
  line += " >" + quoted(folder / "out") + " 2>" + quoted(folder / "err") + " </dev/null";
  const int how = std::system(line.c_str());
  return {WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how), readInput(folder / "out"),
          readInput(folder / "err")};
}

}  // namespace autoccl::cli
