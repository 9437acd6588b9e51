// What the conductor and the limit's ranks agree on.
#pragma once

namespace autoccl::bench {

/// One-way passes of a cache line in one call of the limit group's "barrier".
inline constexpr int kHandOvers = 200;

}  // namespace autoccl::bench
