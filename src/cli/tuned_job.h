// A job under the tuner, from its start to the record of what it learned.
#pragma once

#include <string>
#include <vector>

#include "cli/job.h"
#include "cli/launch.h"
#include "store/run_record.h"

namespace autoccl::cli {

struct TunedJobOptions {
  std::vector<std::string> words;  // the program and its arguments
  std::string shown;               // the command as a record names it; empty: the words
  std::string engine = "cpu";      // "cpu", "nccl" or "auto": what carries the collectives out
  int nRanks = 0;          // to start here; 0: the program is started once and brings its own ranks
  Variables settings;      // given on the command line; they win over the environment
  std::string profile;     // file; empty: AUTOCCL_PROFILE, else this machine's own
  bool useProfile = true;  // false: neither read nor written
  bool tune = true;
  bool pin = true;            // ranks to cores
  bool prefixed = false;      // "[rank] " before lines
  bool quiet = false;         // no progress line, no notes
  double timeoutSeconds = 0;  // 0: none
};

struct TunedJobResult {
  JobEnd end;
  /// What the leader wrote, with our notes added. Without a leader's record it has no tasks.
  RunRecord record;
  bool leads = true;  // false: under a launcher, not rank 0: the others have nothing to tell
};

/// Starts the program with the tuner's variables set, in a run directory of mode 0700 that is
/// removed at the end; shows progress on a terminal; afterwards saves the profile.
/// Under a launcher (its variables are set) and around one (the program is mpirun, srun, torchrun)
/// only settings are exported. Throws Error for what is wrong before the start.
[[nodiscard]] TunedJobResult runTunedJob(const TunedJobOptions& options);

}  // namespace autoccl::cli
