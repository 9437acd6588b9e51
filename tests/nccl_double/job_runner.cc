#include "tests/nccl_double/job_runner.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace autoccl::testing {

namespace fs = std::filesystem;

Ran runJob(const std::string& words, const Environment& variables, int seconds) {
  std::string command = "env";
  for (const auto& [name, value] : variables) command += " " + name + "='" + value + "'";
  command += " timeout -k 2 " + std::to_string(seconds) + " " AUTOCCL_BIN_DIR "/" + words + " 2>&1";
  Ran ran;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {127, "popen failed"};
  std::array<char, 4096> buffer{};
  for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    ran.text.append(buffer.data(), n);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

TraceFolder::TraceFolder() {
  char name[] = "/tmp/nccl-trace-XXXXXX";
  if (mkdtemp(name) != nullptr) path_ = name;
}

TraceFolder::~TraceFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TraceFolder::clear() {
  for (const auto& entry : fs::directory_iterator(path_)) fs::remove_all(entry.path());
}

Ran runUntil(const std::function<bool()>& seen, int calls, const std::string& words,
             TraceFolder& trace, const Environment& variables) {
  constexpr int kMost = 16;
  for (int times = 1;; times *= 4) {
    trace.clear();
    Ran ran = runJob(words + " --calls " + std::to_string(calls * times), variables, 120);
    if (ran.status != 0 || seen() || times == kMost) return ran;
  }
}

std::vector<std::string> TraceFolder::lines(const std::vector<std::string>& words) const {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path_)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      if (std::all_of(words.begin(), words.end(), [&](const std::string& word) {
            return line.find(word) != std::string::npos;
          }))
        found.push_back(line);
  }
  return found;
}

std::string TraceFolder::firstDifference() const {
  std::map<std::string, std::pair<std::string, std::vector<std::string>>> first;
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename();
    const std::string comm = name.substr(0, name.find('-'));
    std::vector<std::string> calls;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("call ")) calls.push_back(line);
    const auto [at, made] = first.try_emplace(comm, name, calls);
    const std::vector<std::string>& other = at->second.second;
    for (size_t i = 0; i < std::max(calls.size(), other.size()); ++i) {
      const std::string mine = i < calls.size() ? calls[i] : "nothing";
      const std::string theirs = i < other.size() ? other[i] : "nothing";
      if (mine != theirs) return name + ": " + mine + "\n" + at->second.first + ": " + theirs;
    }
  }
  return "";
}

std::vector<std::string> choicesOf(const Ran& ran) {
  std::vector<std::string> choices;
  std::istringstream text(ran.text);
  for (std::string line; std::getline(text, line);)
    if (const size_t at = line.find(" choices "); at != std::string::npos)
      choices.push_back(line.substr(at + 9));
  return choices;
}

}  // namespace autoccl::testing
