// What NCCL decides at the end of a group: aggregates, the tuner's answer, channels, chunks.
#pragma once

#include "tests/nccl_double/comm.h"

namespace autoccl::nccl_double {

/// Fills in the decisions of all tasks of a communicator's open group and puts them into NCCL's
/// order. `simulated`: nothing will run; *estimateUs gets the last aggregate's time. An error is
/// what the group returns.
[[nodiscard]] ncclResult_t chooseAll(ncclComm& comm, bool captured, bool simulated,
                                     float* estimateUs);

}  // namespace autoccl::nccl_double
