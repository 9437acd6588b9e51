// Runs what a group decided, on the user's stream.
#pragma once

#include "tests/nccl_double/comm.h"

namespace autoccl::nccl_double {

/// Puts the communicator's open group on its stream as one plan: its collectives, then its letters.
[[nodiscard]] ncclResult_t launchAll(ncclComm& comm);

/// A call that needs no others (one rank), on the stream.
[[nodiscard]] ncclResult_t launchAlone(ncclComm& comm, const Call& call, cudaStream_t stream);

/// True if the stream is being captured into a graph.
[[nodiscard]] bool capturing(cudaStream_t stream);

[[nodiscard]] const char* nameOfType(ncclDataType_t type);  // "ncclFloat32", …

}  // namespace autoccl::nccl_double
