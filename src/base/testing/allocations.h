// Counts what a test's thread allocates.
#pragma once

#include <cstdint>

namespace autoccl::testing {

/// Calls of operator new by this thread so far, in a room's test program that is COUNTED
/// (cmake/Rooms.cmake). Always 0 under the sanitizers, which have an allocator of their own.
[[nodiscard]] uint64_t allocationsOfThisThread() noexcept;

}  // namespace autoccl::testing
