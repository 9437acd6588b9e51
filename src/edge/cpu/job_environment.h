// Rank, size and rendezvous of this process, from what its launcher put into the environment.
#pragma once

#include <optional>
#include <string>

#include "transport/rendezvous.h"

namespace autoccl {

struct JobPlace {
  std::string launcher;  // "autoccl run", "torchrun", "Open MPI", "MPICH", "Slurm"
  int rank = 0;
  int nRanks = 1;
  std::string token;  // names the job: alike on its ranks, different between jobs
};

/// Looks up one variable; null where it is not set. An argument, so that tests need no environment.
using Lookup = const char* (*)(const char* name);

/// The first launcher that speaks, in the order of JobPlace::launcher. Throws Error: nobody speaks
/// (with what to set), a number that is none, or ranks on several hosts.
[[nodiscard]] JobPlace jobPlace(Lookup lookup);

/// The id of the `nth` communicator that this job makes from its environment.
[[nodiscard]] UniqueId idOf(const JobPlace& place, int nth);

}  // namespace autoccl
