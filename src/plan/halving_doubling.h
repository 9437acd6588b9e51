// Recursive halving and doubling plans: logarithmic in steps and optimal in bytes for 2^k ranks.
#pragma once

#include "plan/plan.h"

namespace autoccl {

[[nodiscard]] Plan halvingDoublingAllReduce(Seat seat);
[[nodiscard]] Plan halvingReduceScatter(Seat seat);
[[nodiscard]] Plan doublingAllGather(Seat seat);

}  // namespace autoccl
