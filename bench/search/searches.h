// Which searches a bench runs, and the file that carries their outcomes from one run to another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate.h"

namespace autoccl {

/// What was run on which surface.
enum class SearchKind : uint8_t {
  kPolicy,      // a policy alone, on a surface with an optimum
  kPolicyFlat,  // a policy alone, where every config takes the same time
  kTuner,       // the whole tuner (SubspaceRace with confirmation and budget, as in a job)
  kTunerFlat
};

struct Search {
  SearchKind kind = SearchKind::kPolicy;
  std::string policy;
  double noise = 0;
  uint64_t seed = 0;
  Searched found;
};

/// Seeds firstSeed, firstSeed + 1, ... of every policy and noise.
struct SearchSet {
  uint64_t firstSeed = 1;
  int seeds = 100;
  int calls = 400;  // measured ones that a policy may use
  int jobs = 1;     // threads; the outcomes do not depend on it
  std::vector<std::string> policies;
  std::vector<double> noises;
  bool progress = false;
};

/// Runs them all, in order of seed. A policy whose last word is its arg-min is looked at alone;
/// SubspaceRace is run within the tuner too.
[[nodiscard]] std::vector<Search> runSearches(const SearchSet& set);

/// A line a search, in the order given; parseSearches reads what searchesText writes and throws
/// Error with file:line: reason for anything else.
[[nodiscard]] std::string searchesText(const std::vector<Search>& searches);
[[nodiscard]] std::vector<Search> parseSearches(const std::string& text,
                                                const std::string& fileName);

/// Throws Error where a search stands twice: pieces that overlap would count it twice.
void refuseRepeated(const std::vector<Search>& searches);

}  // namespace autoccl
