// One clock for all processes of a host. Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <ctime>

namespace autoccl {

/// Nanoseconds since boot, the same in every process of this host. About 20 ns through the vDSO, no
/// system call.
inline int64_t nowNs() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace autoccl
