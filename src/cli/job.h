// A job: several processes of one program on this host, as one thing that ends once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/launch.h"

namespace autoccl::cli {

/// One process to start.
struct RankCommand {
  std::vector<std::string> words;  // program and arguments; the program is looked up in PATH
  Variables variables;             // added to this process's environment
  std::vector<int> cores;          // to run on; empty: unchanged
};

struct JobOptions {
  double timeoutSeconds = 0;  // 0: none
  /// Ranks write into pipes and whole lines come out; false: they inherit stdout and stderr.
  bool captured = true;
  bool prefixed = false;       // captured lines begin with "[rank] "
  double graceSeconds = 2;     // from a rank's failure, or a signal to us, to the end of the others
  std::function<void()> tick;  // called about twice a second
  std::function<void()> beforeLines;  // called before captured output goes out
};

struct JobEnd {
  int status = 0;       // 0, the first failing rank's exit code, or 128 + its signal
  int failedRank = -1;  // the first that failed
  int signal = 0;       // that ended it
  bool timedOut = false;
  bool interrupted = false;                // by a signal to us
  [[nodiscard]] std::string text() const;  // one sentence; empty for a job that finished
};

/// Starts all, waits for all. A signal to us goes to every rank and its children. When a rank
/// fails, the others have `graceSeconds` to end by themselves, then SIGTERM, a second later
/// SIGKILL. Rank 0 reads our stdin unless that is a terminal. If we are killed, the kernel kills
/// the ranks. Throws Error (kUsage) where the program cannot be run. Call from a process with one
/// thread.
[[nodiscard]] JobEnd runJob(const std::vector<RankCommand>& ranks, const JobOptions& options);

}  // namespace autoccl::cli
