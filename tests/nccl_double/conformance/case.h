// One assertion about NCCL: a sentence, and how it is put to the test on every rank.
#pragma once

#include <climits>
#include <string>
#include <utility>
#include <vector>

namespace autoccl::conformance {

class Rank;

/// How a rank of a case may end without having failed.
enum class End {
  kReturns,
  kBySignal,  // the library punishes what the case did by a signal (SIGFPE, SIGSEGV)
  kHangs      // or by waiting for ever
};

struct Case {
  const char* id = "";
  const char* sentence = "";
  void (*run)(Rank& rank) = nullptr;
  int ranks = 2;
  /// Versions of the library for which the sentence is said.
  int since = 0, until = INT_MAX;
  /// Set before the ranks start; an empty value unsets. "@RECORDER" stands for the recorder's file.
  std::vector<std::pair<std::string, std::string>> env = {};
  End end = End::kReturns;
  bool oneHost = false;  // all ranks on one host: with a real library that takes a GPU for each
};

/// All cases, in the order of their run.
[[nodiscard]] std::vector<Case> allCases();
[[nodiscard]] std::vector<Case> loadCases();
[[nodiscard]] std::vector<Case> questionCases();
[[nodiscard]] std::vector<Case> choiceCases();
[[nodiscard]] std::vector<Case> parameterCases();
[[nodiscard]] std::vector<Case> eventCases();
[[nodiscard]] std::vector<Case> communicatorCases();
[[nodiscard]] std::vector<Case> harmCases();

}  // namespace autoccl::conformance
