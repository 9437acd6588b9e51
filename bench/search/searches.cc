#include "searches.h"

#include <atomic>
#include <cstdio>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>

#include "base/error.h"

namespace autoccl {
namespace {

constexpr uint64_t kMostWallCalls = 60000;
constexpr const char* kTitle = "autoccl-searches 1";
constexpr const char* kOurs = "subspacerace";
constexpr const char* kKinds[] = {"policy", "policy-flat", "tuner", "tuner-flat"};

Surface surfaceOf(uint64_t seed, bool flat) {
  Surface::Options options;
  options.seed = seed;
  options.flat = flat;
  return Surface(options);
}

std::vector<Search> searchSeed(const SearchSet& set, uint64_t seed) {
  const Surface real = surfaceOf(seed, false), flat = surfaceOf(seed, true);
  std::vector<Search> done;
  for (const double noise : set.noises)
    for (const std::string& policy : set.policies) {
      const auto alone = [&](SearchKind kind, const Surface& s) {
        done.push_back({kind, policy, noise, seed, runPolicy(policy, s, seed, noise, set.calls)});
      };
      const auto whole = [&](SearchKind kind, const Surface& s) {
        done.push_back({kind, policy, noise, seed, runTuner(s, seed, noise, kMostWallCalls)});
      };
      alone(SearchKind::kPolicy, real);
      if (policy != kOurs) {
        alone(SearchKind::kPolicyFlat, flat);
        continue;
      }
      whole(SearchKind::kTuner, real);
      whole(SearchKind::kTunerFlat, flat);
    }
  return done;
}

bool parseLine(const std::string& line, Search& s) {
  std::istringstream words(line);
  std::string kind, claims, rest;
  int loss = 0;
  if (!(words >> kind >> s.policy >> s.noise >> s.seed >> s.found.ofOracle >> s.found.calls >>
        s.found.wallCalls >> claims >> s.found.lostShare >> loss) ||
      words >> rest)
    return false;
  size_t k = 0;
  while (k < std::size(kKinds) && kind != kKinds[k]) ++k;
  if (k == std::size(kKinds) || loss < 0 || loss >= kLosses) return false;
  if (claims != "claims" && claims != "silent") return false;
  s.kind = static_cast<SearchKind>(k);
  s.found.claims = claims == "claims";
  s.found.loss = static_cast<Loss>(loss);
  return true;
}

}  // namespace

std::vector<Search> runSearches(const SearchSet& set) {
  std::vector<std::vector<Search>> bySeed(static_cast<size_t>(set.seeds));
  std::atomic<int> next{0}, over{0};
  const auto work = [&] {
    for (int i = next++; i < set.seeds; i = next++) {
      bySeed[size_t(i)] = searchSeed(set, set.firstSeed + uint64_t(i));
      const int n = ++over;
      if (set.progress) std::fprintf(stderr, "\rseeds: %d of %d ", n, set.seeds);
    }
  };
  std::vector<std::thread> helpers;
  for (int t = 1; t < set.jobs; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
  if (set.progress) std::fprintf(stderr, "\r%40s\r", "");
  std::vector<Search> all;
  for (const auto& one : bySeed) all.insert(all.end(), one.begin(), one.end());
  return all;
}

std::string searchesText(const std::vector<Search>& searches) {
  std::string text = std::string(kTitle) + "\n";
  char line[256];
  for (const Search& s : searches) {
    std::snprintf(line, sizeof line, "%s %s %g %llu %.9g %d %llu %s %.9g %d\n",
                  kKinds[size_t(s.kind)], s.policy.c_str(), s.noise,
                  static_cast<unsigned long long>(s.seed), s.found.ofOracle, s.found.calls,
                  static_cast<unsigned long long>(s.found.wallCalls),
                  s.found.claims ? "claims" : "silent", s.found.lostShare, int(s.found.loss));
    text += line;
  }
  return text;
}

std::vector<Search> parseSearches(const std::string& text, const std::string& fileName) {
  std::istringstream lines(text);
  std::string line;
  std::vector<Search> all;
  for (int n = 1; std::getline(lines, line); ++n) {
    const std::string where = fileName + ":" + std::to_string(n) + ": ";
    if (n == 1 && line != kTitle)
      throw Error(ErrorCode::kInput, where + "not a file of searches",
                  "it should begin with '" + std::string(kTitle) + "', as --save writes it");
    if (n == 1) continue;
    Search s;
    if (!parseLine(line, s))
      throw Error(ErrorCode::kInput, where + "not a search: '" + std::string(line).append("'"));
    all.push_back(s);
  }
  return all;
}

void refuseRepeated(const std::vector<Search>& searches) {
  std::set<std::tuple<SearchKind, std::string, double, uint64_t>> seen;
  for (const Search& s : searches)
    if (!seen.emplace(s.kind, s.policy, s.noise, s.seed).second)
      throw Error(ErrorCode::kInput,
                  "seed " + std::to_string(s.seed) + " of " + s.policy + " stands in two files",
                  "--load takes pieces with different seeds, policies or noises");
}

}  // namespace autoccl
