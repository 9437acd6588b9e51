// Counts what a test's thread allocates.
#pragma once

#include <cstdint>

namespace autoccl::testing {

/// Calls of operator new by this thread so far.
[[nodiscard]] uint64_t allocationsOfThisThread() noexcept;

}  // namespace autoccl::testing
