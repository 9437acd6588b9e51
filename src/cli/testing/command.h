// Runs the command `autoccl` as a user does, for tests.
#pragma once

#include <string>
#include <vector>

#include "cli/launch.h"

namespace autoccl::cli {

struct Output {
  int status = 0;  // exit status, or 128 + signal
  std::string out, err;
};

/// Runs it with these words; `variables` are added to the environment. HOME is a folder that does
/// not exist, so that nothing of the user's is touched.
[[nodiscard]] Output runAutoccl(const std::vector<std::string>& words,
                                const Variables& variables = {});

/// A folder that is gone at the end of the test.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace autoccl::cli
