// What a user writes for `autoccl bench`, as a plan.
#pragma once

#include <string>

#include "bench/run.h"

namespace autoccl::cli {

/// As given on the command line; bounds are checked by its parser, words by planOf.
struct BenchWords {
  std::string collectives = "allreduce";
  std::string sizes = "1K:16M:x4";
  std::string vs;
  std::string modes = "default";
  std::string buffers = "registered,ordinary";
  std::string compute = "none";
  std::vector<std::string> pins;
  std::string pinFrom;
  int ranks = 2;
  int rounds = 7;
  double roundMs = 25;
  uint32_t tuneCalls = 1'000'000;
  double tuneSeconds = 20;
  bool check = false;
  bool noLimits = false;
};

/// Throws Error naming the option, the word and what is allowed.
[[nodiscard]] bench::BenchPlan planOf(const BenchWords& words);

}  // namespace autoccl::cli
