// What NCCL believes a collective costs, and what the double makes it cost.
#pragma once

#include <cstddef>

#include "edge/nccl/abi/common.h"
#include "tests/nccl_double/tuner.h"

namespace autoccl::nccl_double {

/// How ranks of one host reach each other; from NCCL_P2P_DISABLE and NCCL_SHM_DISABLE.
enum class Way { kP2p, kShm, kNet };
[[nodiscard]] const char* nameOfWay(Way way);  // "p2p", "shm", "net"

/// The machine that a communicator sees.
struct Machine {
  int nRanks = 1;
  int nNodes = 1;
  int nChannels = 1;
  bool nvls = false;     // NVLink SHARP inside a node
  bool collnet = false;  // SHARP between nodes
  bool ll128 = true;     // safe on this topology
  Way way = Way::kP2p;   // NCCL's own model does not see it, the true time does
};

/// Pairs that the user's NCCL_ALGO and NCCL_PROTO leave, by function.
struct Allowed {
  bool pair[nccl::kFuncs][nccl::kAlgos][nccl::kProtos] = {};
};
/// Reads the two variables in NCCL's grammar: a comma list, ^ negates it, and "func:list" separated
/// by ; in releases since 2.24. False: a word is unknown (strict since 2.24, ignored before).
[[nodiscard]] bool readAllowed(const char* algos, const char* protos, bool perFunction,
                               Allowed& allowed);

/// True where the pair exists for the function on this machine.
[[nodiscard]] bool possible(const Machine& machine, bool patManyRanks, nccl::Func func, int algo,
                            int proto);

/// Fills the table: -1, then predicted us where the pair is possible and allowed: latency by steps
/// plus bytes by bandwidth, as NCCL's own model is built.
void predict(const Machine& machine, const Allowed& allowed, bool patManyRanks, nccl::Func func,
             size_t nBytes, int pipeOps, CostTable& table);

/// How long the call really takes here: the paper's equations (src/model/cost.h) with parameters of
/// each (function, algorithm, protocol, group), drawn once for all runs, up to a factor of two off
/// the prediction. So there is something to find.
[[nodiscard]] double trueUs(const Machine& machine, nccl::Func func, int algo, int proto,
                            int channels, int warps, size_t chunk, size_t nBytes);

[[nodiscard]] const char* nameOfAlgo(int algo);    // "TREE", "RING", …
[[nodiscard]] const char* nameOfProto(int proto);  // "LL", "LL128", "SIMPLE"
[[nodiscard]] const char* nameOfFunc(int func);    // "AllReduce", …

}  // namespace autoccl::nccl_double
