// What one rank says of one finished call.
#pragma once

#include <cstdint>

#include "model/config.h"

namespace autoccl {

/// By which clock a call was timed. Times of two clocks are never compared.
enum class CallClock : uint32_t {
  kEngine,       // the engine's own: the host's clock, or stamps of the device
  kStream,       // the stream it was called on, from ready to done
  kBesideStream  // the engine's, of a call that is timed on its stream too
};
inline constexpr uint32_t kCallClocks = 3;

/// One rank's stamps of one call, in ns of that rank's clock (host or device).
struct CallSample {
  uint64_t taskKey = 0;
  uint64_t callIndex = 0;
  Config inEffect;
  int64_t arrivedNs = 0;
  int64_t finishedNs = 0;
  uint32_t failed = 0;
  CallClock clock = CallClock::kEngine;
};
static_assert(sizeof(CallSample) == 56);

/// A rank's running sums, as of its last report.
struct RankSums {
  int64_t firstCallNs = 0;
  int64_t lastCallNs = 0;
  int64_t exposedNs = 0;  // the program waited for communication
  int64_t calls = 0;
};

}  // namespace autoccl
