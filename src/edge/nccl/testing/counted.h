// Counts what a thread allocates, locks and asks of the kernel.
#pragma once

#include <cstdint>
#include <functional>

namespace autoccl::testing {

struct Counted {
  bool possible = false;  // the kernel and the build let us count system calls
  uint64_t allocations = 0;
  uint64_t locks = 0;
  int systemCalls = 0;
};

/// What 1,000 rounds of `calls` make on a thread of their own, after a first one. System calls fail
/// in it.
[[nodiscard]] Counted countsOf(const std::function<void()>& calls);

}  // namespace autoccl::testing
