// Every assertion about NCCL that the double relies on, put to a library: the double in CI, the
// real one on a GPU machine, where all ranks may share one GPU (each its own NCCL_HOSTID, sockets).
//   nccl_conformance [--nccl FILE] [--recorder FILE] [--only ID,…] [--list] [--seconds S]
// Prints a table row per assertion: confirmed, refuted, or not testable here. Needs libcuda.so.1,
// an NCCL and the recorder plugin at run time, nothing else. Exit 0; 1 if one is refuted.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/nccl_double/conformance/rank.h"

namespace autoccl::conformance {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string nccl = "libnccl.so.2", recorder, only;
  bool list = false;
  double seconds = 60;
};

/// How a rank's process ended.
struct Ended {
  bool hung = false;
  int signal = 0, status = 0;
};

struct Verdict {
  const char* word = "confirmed";
  std::string note;
};

std::string besideProgram(const char* name) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / name).string();
}

Options parse(int argc, char** argv) {
  Options o;
  for (const char* place :
       {"libnccl-tuner-recorder.so", "../lib/doubles/libnccl-tuner-recorder.so"})
    if (o.recorder.empty() && fs::exists(besideProgram(place)))
      o.recorder = fs::canonical(besideProgram(place)).string();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--nccl")
      o.nccl = value();
    else if (word == "--recorder")
      o.recorder = fs::absolute(value()).string();
    else if (word == "--only")
      o.only = "," + value() + ",";
    else if (word == "--seconds")
      o.seconds = std::atof(value().c_str());
    else if (word == "--list")
      o.list = true;
    else {
      std::fprintf(stderr, "nccl_conformance: unknown argument %s\n", word.c_str());
      std::exit(2);
    }
  }
  return o;
}

void setVariable(const std::string& name, const std::string& value) {
  if (value.empty())
    unsetenv(name.c_str());
  else
    setenv(name.c_str(), value.c_str(), 1);
}

void prepare(const Options& o, const Case& c, int rank) {
  // A bare file name is what every release finds; its folder is on the library path below.
  const std::string bare = fs::path(o.recorder).filename();
  setVariable("NCCL_TUNER_PLUGIN", bare);
  setVariable("NCCL_PROFILER_PLUGIN", bare);
  setVariable("NCCL_HOSTID", c.oneHost ? "conformance" : "conformance" + std::to_string(rank));
  for (const auto& [name, fallback] :
       {std::pair("NCCL_SOCKET_IFNAME", "lo"), std::pair("NCCL_NET", "Socket"),
        std::pair("NCCL_IB_DISABLE", "1"), std::pair("NCCL_NVLS_ENABLE", "0")})
    setenv(name, fallback, 0);
  const char* path = std::getenv("LD_LIBRARY_PATH");
  setVariable("LD_LIBRARY_PATH", fs::path(o.recorder).parent_path().string() +
                                     (path != nullptr ? ":" + std::string(path) : ""));
  for (const auto& [name, value] : c.env)
    setVariable(name, value == "@RECORDER" ? o.recorder : value);
}

pid_t startRank(const Options& o, const Case& c, int rank, const fs::path& folder) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prepare(o, c, rank);
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(c.ranks).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  setenv("NCCL_PROGRAM_ID", (folder / "id").c_str(), 1);
  const std::string out = folder / ("rank" + std::to_string(rank));
  execl("/proc/self/exe", "nccl_conformance", "--rank-of", c.id, o.nccl.c_str(), o.recorder.c_str(),
        out.c_str(), nullptr);
  _exit(127);
}

std::vector<Ended> awaitRanks(const std::vector<pid_t>& ranks, double seconds) {
  std::vector<Ended> ends(ranks.size());
  std::vector<bool> over(ranks.size(), false);
  const auto begin = std::chrono::steady_clock::now();
  for (size_t left = ranks.size(); left > 0; usleep(2000)) {
    const bool late =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds;
    for (size_t r = 0; r < ranks.size(); ++r) {
      int status = 0;
      if (over[r]) continue;
      if (late) {
        kill(ranks[r], SIGKILL);
        ends[r].hung = true;
        waitpid(ranks[r], &status, 0);
      } else if (waitpid(ranks[r], &status, WNOHANG) != ranks[r]) {
        continue;
      }
      over[r] = true;
      --left;
      if (WIFSIGNALED(status)) ends[r].signal = WTERMSIG(status);
      if (WIFEXITED(status)) ends[r].status = WEXITSTATUS(status);
    }
  }
  return ends;
}

/// The findings of all ranks: the first that refutes, else the first that prevents, else all well.
Verdict readFindings(const fs::path& folder, int ranks) {
  Verdict verdict{"not testable", "nothing was found"};
  for (int r = 0; r < ranks; ++r) {
    std::ifstream file(folder / ("rank" + std::to_string(r)));
    for (std::string line; std::getline(file, line);) {
      const std::string text = line.substr(std::min<size_t>(2, line.size()));
      if (line[0] == 'R') return {"refuted", text};
      if (line[0] == 'N') verdict = {"not testable", text};
      if (line[0] == 'C' && verdict.note == "nothing was found") verdict = {"confirmed", ""};
      if (line[0] == 'I' && r == 0 && verdict.note.empty()) verdict.note = text;
    }
  }
  return verdict;
}

Verdict judge(const Case& c, const fs::path& folder, const std::vector<Ended>& ends) {
  int hung = 0, killed = 0, signal = 0, failed = 0;
  for (const Ended& end : ends) {
    hung += end.hung ? 1 : 0;
    killed += !end.hung && end.signal != 0 ? 1 : 0;
    if (!end.hung && end.signal != 0) signal = end.signal;
    failed += end.status != 0 ? 1 : 0;
  }
  const Verdict found = readFindings(folder, c.ranks);
  const bool skipped =
      std::strcmp(found.word, "not testable") == 0 && found.note != "nothing was found";
  if (skipped) return found;
  const std::string ended = killed > 0
                                ? "signal " + std::to_string(signal) + " (" + strsignal(signal) +
                                      ") on " + std::to_string(killed) + " ranks"
                                : "";
  if (c.end == End::kBySignal && killed > 0) return {"confirmed", ended};
  if (c.end == End::kHangs && hung > 0) return {"confirmed", "stopped after the time-out"};
  if (hung > 0 && std::strcmp(found.word, "refuted") != 0) return {"refuted", "hung"};
  if (killed > 0) return {"refuted", ended};
  if (failed > 0 && std::strcmp(found.word, "refuted") != 0)
    return {"not testable", "a rank could not start"};
  return found;
}

Verdict run(const Options& o, const Case& c) {
  char name[] = "/tmp/nccl-conformance-XXXXXX";
  if (mkdtemp(name) == nullptr) return {"not testable", "no folder"};
  const fs::path folder = name;
  std::vector<pid_t> ranks;
  for (int r = 0; r < c.ranks; ++r) ranks.push_back(startRank(o, c, r, folder));
  const double seconds = c.end == End::kHangs ? std::min(o.seconds, 5.0) : o.seconds;
  const Verdict verdict = judge(c, folder, awaitRanks(ranks, seconds));
  fs::remove_all(folder);
  return verdict;
}

int runRank(char** argv) {
  for (const Case& c : allCases()) {
    if (std::strcmp(c.id, argv[2]) != 0) continue;
    testing::Place place;
    if (!testing::placeFromEnvironment(place) || !testing::driver().found) return 3;
    Rank rank(place, argv[3], argv[4], argv[5]);
    if (rank.version() < c.since || rank.version() > c.until)
      rank.notTestable("said of other versions");
    else
      c.run(rank);
    std::fflush(nullptr);
    _exit(0);  // the plugin's threads and the library's need no end of their own
  }
  return 2;
}

int runAll(const Options& o) {
  if (o.recorder.empty()) {
    std::fprintf(stderr, "nccl_conformance: no recorder; name it by --recorder FILE\n");
    return 2;
  }
  int version = 0, counts[3] = {};
  (void)openLibrary(o.nccl.c_str()).GetVersion(&version);
  std::printf("NCCL %d.%d.%d\n\n| assertion | says | verdict | note |\n|---|---|---|---|\n",
              version / 10000, version / 100 % 100, version % 100);
  for (const Case& c : allCases()) {
    if (!o.only.empty() && o.only.find("," + std::string(c.id) + ",") == std::string::npos)
      continue;
    const Verdict v = run(o, c);
    std::printf("| %s | %s | %s | %s |\n", c.id, c.sentence, v.word, v.note.c_str());
    std::fflush(stdout);
    ++counts[v.word[0] == 'c' ? 0 : v.word[0] == 'r' ? 1 : 2];
  }
  std::printf("\n%d confirmed, %d refuted, %d not testable here\n", counts[0], counts[1],
              counts[2]);
  return counts[1] > 0 ? 1 : 0;
}

}  // namespace

std::vector<Case> allCases() {
  std::vector<Case> all;
  for (const auto& cases : {loadCases(), questionCases(), choiceCases(), parameterCases(),
                            eventCases(), communicatorCases(), harmCases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace autoccl::conformance

int main(int argc, char** argv) {
  using namespace autoccl::conformance;
  if (argc == 6 && std::strcmp(argv[1], "--rank-of") == 0) return runRank(argv);
  const Options options = parse(argc, argv);
  if (!options.list) return runAll(options);
  for (const Case& c : allCases()) std::printf("%-20s %s\n", c.id, c.sentence);
  return 0;
}
