// autoccl-search-bench: how close to the best of all configs does each search come, and how often
// does it claim a gain where there is none? Simulated surfaces, so the answer is the same on every
// machine.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "report.h"
#include "searches.h"

namespace autoccl {
namespace {

constexpr char kHelp[] =
    "usage: autoccl-search-bench [--seeds N] [--first-seed K] [--jobs J] [--calls N] [--noise "
    "PERCENT,...] [--policy NAME,...] [--save FILE | --load FILE,...] [--json FILE] [--svg FILE] "
    "[--quiet]\n"
    "  --seeds N      surfaces per policy and noise, 1 to 100000 (100)\n"
    "  --first-seed K the first of them, 1 to 1000000000 (1)\n"
    "  --jobs J       threads, 1 to 1024 (one per CPU); the outcome does not depend on it\n"
    "  --calls N      measured calls a policy may use, 50 to 100000 (400)\n"
    "  --noise ...    deviations of one call in per cent, 0 to 100 (2,5,10)\n"
    "  --policy ...   of: subspacerace, paper, artifact, random, anneal (all)\n"
    "  --save FILE    the outcome of every search, for --load\n"
    "  --load F,...   run nothing: report on the searches in these files, as if run in one go\n"
    "  --json FILE    rows as JSON; --svg FILE: plot\n";

struct Arguments {
  SearchSet set;
  std::string save, json, svg;
  std::vector<std::string> load;
  bool quiet = false, help = false;
};

template <class Number>
Number numberOf(const std::string& value, const std::string& name, Number least, Number most) {
  Number n = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error != std::errc() || end != value.data() + value.size() || n < least || n > most)
    throw Error(ErrorCode::kUsage, name + " '" + value + "' is out of range",
                "allowed: " + std::to_string(least) + " to " + std::to_string(most));
  return n;
}

std::vector<std::string> listOf(const std::string& value) {
  std::vector<std::string> items;
  for (size_t from = 0; from <= value.size();) {
    const size_t to = std::min(value.find(',', from), value.size());
    items.push_back(value.substr(from, to - from));
    from = to + 1;
  }
  return items;
}

std::vector<std::string> knownPolicies() {
  return {"subspacerace", "paper", "artifact", "random", "anneal"};
}

std::vector<std::string> policiesOf(const std::string& value) {
  const std::vector<std::string> known = knownPolicies();
  std::vector<std::string> chosen = listOf(value);
  for (const std::string& name : chosen)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(ErrorCode::kUsage, "--policy: unknown '" + name + "'",
                  "allowed: subspacerace, paper, artifact, random, anneal");
  return chosen;
}

std::vector<double> noisesOf(const std::string& value) {
  std::vector<double> noises;
  for (const std::string& percent : listOf(value))
    noises.push_back(numberOf<double>(percent, "--noise", 0, 100) / 100);
  return noises;
}

void take(Arguments& a, const std::string& name, const std::string& value) {
  constexpr uint64_t kMostSeed = 1000000000;
  if (name == "--seeds") a.set.seeds = numberOf<int>(value, name, 1, 100000);
  if (name == "--first-seed") a.set.firstSeed = numberOf<uint64_t>(value, name, 1, kMostSeed);
  if (name == "--jobs") a.set.jobs = numberOf<int>(value, name, 1, 1024);
  if (name == "--calls") a.set.calls = numberOf<int>(value, name, 50, 100000);
  if (name == "--noise") a.set.noises = noisesOf(value);
  if (name == "--policy") a.set.policies = policiesOf(value);
  if (name == "--save") a.save = value;
  if (name == "--load") a.load = listOf(value);
  if (name == "--json") a.json = value;
  if (name == "--svg") a.svg = value;
}

Arguments parse(int argc, char** argv) {
  constexpr const char* kWithValue[] = {"--seeds",  "--first-seed", "--jobs", "--calls", "--noise",
                                        "--policy", "--save",       "--load", "--json",  "--svg"};
  Arguments a;
  a.set.policies = knownPolicies();
  a.set.noises = {0.02, 0.05, 0.10};
  a.set.jobs = int(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--quiet" || name == "--help") {
      (name == "--quiet" ? a.quiet : a.help) = true;
      continue;
    }
    if (std::find(std::begin(kWithValue), std::end(kWithValue), name) == std::end(kWithValue))
      throw Error(ErrorCode::kUsage, "unknown argument '" + name + "'", "see --help");
    if (i + 1 >= argc) throw Error(ErrorCode::kUsage, name + " needs a value", "see --help");
    take(a, name, argv[++i]);
  }
  if (!a.save.empty() && !a.load.empty())
    throw Error(ErrorCode::kUsage, "--save and --load", "one of them: --load runs no search");
  a.set.progress = !a.quiet && isatty(STDERR_FILENO);
  return a;
}

std::vector<Search> load(const std::vector<std::string>& paths) {
  std::vector<Search> all;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    if (!file) throw Error(ErrorCode::kInput, "cannot read '" + path + "'");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto some = parseSearches(text, path);
    all.insert(all.end(), some.begin(), some.end());
  }
  refuseRepeated(all);
  return all;
}

void save(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << text;
  if (!file.flush())
    throw Error(ErrorCode::kSystem, "cannot write '" + path + "'",
                "name a file in a folder that exists");
}

int run(const Arguments& a) {
  const std::vector<Search> searches = a.load.empty() ? runSearches(a.set) : load(a.load);
  if (!a.save.empty()) save(a.save, searchesText(searches));
  const std::vector<SearchRow> rows = rowsOf(searches);
  std::cout << tableText(rows) << "\n" << lossText(rows);
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
    return e.code() == autoccl::ErrorCode::kUsage || e.code() == autoccl::ErrorCode::kInput ? 2 : 1;
  }
}
