// Ring plans: every rank talks to its two neighbours only. Optimal in bytes, linear in steps.
#pragma once

#include "plan/plan.h"

namespace autoccl {

[[nodiscard]] Plan ringAllReduce(Seat seat);
[[nodiscard]] Plan ringReduceScatter(Seat seat);
[[nodiscard]] Plan ringAllGather(Seat seat);
/// A chain from the root: pipelined over slices it costs one pass of the data and n-1 latencies.
[[nodiscard]] Plan ringBroadcast(Seat seat);
[[nodiscard]] Plan ringReduce(Seat seat);
/// Pairwise exchange: in step s each rank sends to the rank s places on.
[[nodiscard]] Plan ringAllToAll(Seat seat);

}  // namespace autoccl
