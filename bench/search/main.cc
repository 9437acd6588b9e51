// autoccl-search-bench: how close to the best of all configs does each search come, and how often
// does it claim a gain where there is none? Simulated surfaces, so the answer is the same on every
// machine.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "report.h"
#include "simulate.h"
#include "tune/policy.h"

namespace autoccl {
namespace {

constexpr char kHelp[] =
    "usage: autoccl-search-bench [--seeds N] [--calls N] [--policy NAME,...] [--json FILE] [--svg "
    "FILE] [--quiet]\n"
    "  --seeds N     surfaces per policy and noise, 1 to 100000 (100)\n"
    "  --calls N     measured calls a policy may use, 50 to 100000 (400)\n"
    "  --policy ...  of: subspacerace, paper, artifact, random, anneal (all)\n"
    "  --json FILE   rows as JSON; --svg FILE: plot\n";
constexpr double kNoises[] = {0.02, 0.05, 0.10};
constexpr uint64_t kMostWallCalls = 60000;

struct Arguments {
  int seeds = 100, calls = 400;
  std::vector<std::string> policies{"subspacerace", "paper", "artifact", "random", "anneal"};
  std::string json, svg;
  bool quiet = false, help = false;
};

int numberOf(const std::string& value, const std::string& name, int least) {
  int n = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error != std::errc() || end != value.data() + value.size() || n < least || n > 100000)
    throw Error(ErrorCode::kUsage, name + " '" + value + "' is out of range",
                "allowed: " + std::to_string(least) + " to 100000");
  return n;
}

std::vector<std::string> policiesOf(const std::string& value) {
  const std::vector<std::string> known = Arguments{}.policies;
  std::vector<std::string> chosen;
  for (size_t from = 0; from <= value.size();) {
    const size_t to = std::min(value.find(',', from), value.size());
    chosen.push_back(value.substr(from, to - from));
    if (std::find(known.begin(), known.end(), chosen.back()) == known.end())
      throw Error(ErrorCode::kUsage, "--policy: unknown '" + chosen.back() + "'",
                  "allowed: subspacerace, paper, artifact, random, anneal");
    from = to + 1;
  }
  return chosen;
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--quiet") {
      a.quiet = true;
      continue;
    }
    if (name == "--help") {
      a.help = true;
      continue;
    }
    const bool known = name == "--seeds" || name == "--calls" || name == "--policy" ||
                       name == "--json" || name == "--svg";
    if (!known) throw Error(ErrorCode::kUsage, "unknown argument '" + name + "'", "see --help");
    if (i + 1 >= argc) throw Error(ErrorCode::kUsage, name + " needs a value", "see --help");
    const std::string value = argv[++i];
    if (name == "--seeds") a.seeds = numberOf(value, name, 1);
    if (name == "--calls") a.calls = numberOf(value, name, 50);
    if (name == "--policy") a.policies = policiesOf(value);
    if (name == "--json") a.json = value;
    if (name == "--svg") a.svg = value;
  }
  return a;
}

/// Runs job(seed) for every seed on all cores; results in seed order.
std::vector<Searched> forSeeds(int seeds, const std::string& what, bool progress,
                               const std::function<Searched(uint64_t)>& job) {
  std::vector<Searched> results(static_cast<size_t>(seeds));
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int i = next++; i < seeds; i = next++) {
      results[size_t(i)] = job(uint64_t(i) + 1);
      if (progress && i % 10 == 0) std::fprintf(stderr, "\r%-32s %d/%d ", what.c_str(), i, seeds);
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned t = 1; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
  if (progress) std::fprintf(stderr, "\r%60s\r", "");
  return results;
}

Surface surfaceOf(uint64_t seed, bool flat) {
  Surface::Options options;
  options.seed = seed;
  options.flat = flat;
  return Surface(options);
}

void save(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << text;
  if (!file.flush())
    throw Error(ErrorCode::kSystem, "cannot write '" + path + "'",
                "name a file in a folder that exists");
}

SearchRow measure(const Arguments& a, const std::string& policy, double noise, bool progress) {
  const auto alone = [&](bool flat) {
    return forSeeds(a.seeds, policy + (flat ? " (flat)" : ""), progress, [&](uint64_t seed) {
      return runPolicy(policy, surfaceOf(seed, flat), seed, noise, a.calls);
    });
  };
  const auto whole = [&](bool flat) {
    return forSeeds(a.seeds, std::string("tuner") + (flat ? " (flat)" : ""), progress,
                    [&](uint64_t seed) {
                      return runTuner(surfaceOf(seed, flat), seed, noise, kMostWallCalls);
                    });
  };
  const bool ours = policy == "subspacerace";
  const auto real = alone(false);
  const auto flat = ours ? whole(true) : alone(true);
  return rowOf(policy, noise, real, flat, ours ? whole(false) : std::vector<Searched>{});
}

int run(const Arguments& a) {
  const bool progress = !a.quiet && isatty(STDERR_FILENO);
  std::vector<SearchRow> rows;
  for (const double noise : kNoises)
    for (const std::string& policy : a.policies)
      rows.push_back(measure(a, policy, noise, progress));
  std::cout << tableText(rows);
  save(a.json, jsonText(rows));
  save(a.svg, svgText(rows));
  return 0;
}

}  // namespace
}  // namespace autoccl

int main(int argc, char** argv) {
  try {
    const autoccl::Arguments arguments = autoccl::parse(argc, argv);
    if (arguments.help) {
      std::cout << autoccl::kHelp;
      return 0;
    }
    return autoccl::run(arguments);
  } catch (const autoccl::Error& e) {
    std::cerr << "autoccl-search-bench: " << e.what() << "\n";
    return e.code() == autoccl::ErrorCode::kUsage ? 2 : 1;
  }
}
