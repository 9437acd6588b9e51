// autoccl-gpu-bench: stock NCCL and the GPU engine side by side, one process for each GPU. Needs a
// CUDA driver, libnccl.so.2 and, for --compute, cuBLAS; no MPI, no CUDA toolkit.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "output.h"

namespace autoccl::gpubench {
namespace {

struct Words {
  std::vector<std::string> collectives, sizes;
  std::string dtype = "bfloat16", memory = "256M";
  bool withoutNccl = false;
};

void describe(CLI::App& app, Options& o, Words& w) {
  app.add_option("--ranks", o.ranks, "Ranks; more than GPUs share them (one for each GPU)")
      ->check(CLI::Range(2, Team::kMost));
  app.add_option("--collectives", w.collectives,
                 "allreduce, allgather, reducescatter, broadcast, alltoall (the first three)")
      ->delimiter(',');
  app.add_option("--sizes", w.sizes, "Bytes as NCCL counts them (64K,1M,16M,128M,512M)")
      ->delimiter(',');
  app.add_option("--dtype", w.dtype, "bfloat16, float16 or float32")
      ->check(CLI::IsMember({"bfloat16", "float16", "float32"}));
  app.add_option("--rounds", o.rounds, "Interleaved rounds")->check(CLI::Range(2, 1000));
  app.add_flag("--check", o.check, "Compares results with what they must be");
  app.add_flag("--check-only", o.checkOnly,
               "Checks the ends of every axis of every kind of config, and times nothing");
  app.add_flag("--trace", o.trace, "Rank 0 says on standard error what it is about to run");
  app.add_flag("--curves", o.curves, "Measures NC, NT and C in full through each best config");
  app.add_flag("--without-nccl", w.withoutNccl, "Measures the GPU engine alone");
  app.add_option("--compute", o.compute, "Sizes of bfloat16 matrix products to run beside")
      ->delimiter(',')
      ->check(CLI::Range(256, 32768));
  app.add_option("--memory", w.memory, "GPU memory of the engine on each rank (256M)");
  app.add_option("--nccl", o.ncclPath, "libnccl.so.2");
  app.add_option("--cublas", o.cublasPath, "libcublas.so.13 or .12");
  app.add_option("--json", o.json, "Also writes rows and every point of the sweep here");
  app.add_option("--machine", o.machine, "The machine's name, for the JSON");
}

template <class Enum>
Enum wordOf(const std::string& text, const char* option) {
  const auto value = fromText<Enum>(text);
  if (!value) throw Error(ErrorCode::kUsage, std::string(option) + " '" + text + "' is unknown");
  return *value;
}

void apply(const Words& w, Options& o) {
  if (!w.collectives.empty()) o.collectives.clear();
  for (const std::string& text : w.collectives) {
    o.collectives.push_back(wordOf<Collective>(text, "--collectives"));
    constexpr Config kAny{Algorithm::kOneShot, Protocol::kSimple, Transport::kP2p};
    if (!direct::suits(o.collectives.back(), kAny))
      throw Error(ErrorCode::kUsage, "--collectives: the GPU engine has no " + text);
  }
  if (!w.sizes.empty()) o.sizes.clear();
  for (const std::string& text : w.sizes) o.sizes.push_back(parseBytes(text, "--sizes"));
  o.dtype = wordOf<DataType>(w.dtype, "--dtype");
  o.memory = parseBytes(w.memory, "--memory");
  o.nccl = !w.withoutNccl;
}

int countGpus() {
  // In a child: a process that has started CUDA must not fork.
  int ends[2] = {};
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    const direct::Cuda* cuda = direct::Cuda::find(true);
    if (cuda != nullptr && cuda->init(0) == direct::kCudaSuccess) cuda->deviceGetCount(&count);
    [[maybe_unused]] const ssize_t written = write(ends[1], &count, sizeof count);
    std::_Exit(0);
  }
  int count = 0;
  if (read(ends[0], &count, sizeof count) != sizeof count) count = 0;
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return count;
}

int runRank(const Options& options, Team& team, const UniqueId& meeting) {
  try {
    Rank rank(options, team, meeting);
    const Results results = measure(options, rank);
    for (const std::string& fault : results.faults)
      std::fprintf(stderr, "autoccl-gpu-bench: wrong result: %s\n", fault.c_str());
    if (options.checkOnly) {
      if (team.rank() == 0)
        std::printf("# %s: %d results checked on each rank\n", results.device.c_str(),
                    results.checked);
    } else if (team.rank() == 0) {
      printTables(results, options, team.nRanks());
      if (!options.json.empty()) writeJson(results, options, team.nRanks());
    }
    std::fflush(stdout);
    return results.faults.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "autoccl-gpu-bench: rank %d: %s\n", team.rank(), error.what());
    return 1;
  }
}

int runAll(Options& options) {
  const int gpus = countGpus();
  if (gpus == 0) throw Error(ErrorCode::kSystem, "this machine has no GPU that CUDA knows");
  if (options.ranks == 0) options.ranks = std::min(gpus, Team::kMost);
  if (options.ranks < 2)
    throw Error(ErrorCode::kUsage, "one GPU: a collective needs two ranks",
                "--ranks 2 --without-nccl shares the GPU, for correctness only");
  Team team(options.ranks);
  const UniqueId meeting = newUniqueId();
  std::vector<pid_t> ranks;
  for (int r = 0; r < options.ranks; ++r) {
    const pid_t pid = fork();
    if (pid == 0) {
      team.enter(r);
      std::_Exit(runRank(options, team, meeting));
    }
    ranks.push_back(pid);
  }
  int worst = 0;
  while (!ranks.empty()) {
    int status = 0;
    std::erase(ranks, wait(&status));
    if (!WIFEXITED(status))  // the others would wait for it
      for (const pid_t pid : ranks) kill(pid, SIGTERM);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  return worst;
}

}  // namespace
}  // namespace autoccl::gpubench

int main(int argc, char** argv) {
  using namespace autoccl::gpubench;
  CLI::App app("Stock NCCL and AutoCCL's GPU engine side by side");
  Options options;
  Words words;
  describe(app, options, words);
  CLI11_PARSE(app, argc, argv);
  try {
    apply(words, options);
    return runAll(options);
  } catch (const std::exception& error) {
    std::cerr << "autoccl-gpu-bench: " << error.what() << "\n";
    return 2;
  }
}
