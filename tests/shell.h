// Runs a line of shell, for tests that start whole programs.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace autoccl {

struct Ended {
  int status = 0;      // exit status, or 128 + signal
  std::string output;  // standard output and standard error, as they came
};

inline Ended shell(const std::string& command) {
  Ended ended;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {127, "no shell: " + command};
  std::array<char, 4096> part{};
  while (const size_t n = fread(part.data(), 1, part.size(), pipe))
    ended.output.append(part.data(), n);
  const int status = pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

}  // namespace autoccl
