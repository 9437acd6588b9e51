// How a test program becomes N ranks: started by a launcher that sets RANK and WORLD_SIZE, or by
// itself. The unique id travels through a file.
#pragma once

#include <string>
#include <vector>

#include "tests/nccl_double/nccl.h"

namespace autoccl::testing {

struct Place {
  int rank = 0, nRanks = 1;
  int localRank = 0;
  std::string idFile;
};

/// What the variables of torchrun, autoccl run, Open MPI or MPICH say, and NCCL_PROGRAM_ID (the
/// id's file).
/// False: no launcher.
[[nodiscard]] bool placeFromEnvironment(Place& place);

/// How a program starts itself as ranks.
struct Crew {
  int nRanks = 2;
  int hosts = 1;      // pretended ones: each its own NCCL_HOSTID, devices counted within it
  int expected = -1;  // a rank whose end does not count
  struct Variable {   // of one rank alone; an empty value unsets it
    int rank;
    std::string name, value;
  };
  std::vector<Variable> variables;
};
/// Starts the program once per rank with the same arguments, waits for all, and returns the worst
/// status. A rank that a signal ended counts as 128 + signal.
[[nodiscard]] int startRanks(const Crew& crew, char** argv);

/// The id of the n-th communicator of the program, made by rank 0. Waits for it.
[[nodiscard]] ncclUniqueId sharedId(const Place& place, int number,
                                    ncclResult_t (*make)(ncclUniqueId*));

}  // namespace autoccl::testing
