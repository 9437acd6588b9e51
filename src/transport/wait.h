// Waiting on a word in shared memory: spin, yield or sleep, always able to end.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/config.h"

namespace autoccl {

/// A counter that one side raises and others wait for; lives in memory shared between processes.
/// Counters wrap: compare by signed difference. What the waiters read next may share its cache
/// line, if nobody else writes there: then both come over in one transfer.
struct FlagWord {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};  // waiters inside the kernel
};
/// The same, alone on its cache line.
struct alignas(64) Flag : FlagWord {};
static_assert(sizeof(Flag) == 64);

/// How to wait and what ends a wait early.
struct WaitRules {
  WaitPolicy policy = WaitPolicy::kFutex;
  uint32_t spins = 2000;                         // pauses before the policy's slow part
  const std::atomic<uint32_t>* epoch = nullptr;  // the wait ends when *epoch != expectedEpoch
  uint32_t expectedEpoch = 0;
  /// Asked every few milliseconds of a long wait; false ends it (a peer died). May be null.
  bool (*alive)(void* context) noexcept = nullptr;
  void* aliveContext = nullptr;
};

[[nodiscard]] inline bool reached(uint32_t value, uint32_t target) noexcept {
  return static_cast<int32_t>(value - target) >= 0;
}

/// Waits until flag.value has reached target. False: the epoch moved or a peer died.
/// HOT: no allocation, lock or log; a system call only after `spins` pauses.
[[nodiscard]] bool waitFor(FlagWord& flag, uint32_t target, const WaitRules& rules) noexcept;

/// The same for any condition that no futex stands behind (flags inside data lines, CAS words):
/// call it in a loop; it pauses, yields or naps by the rules. False: stop waiting.
[[nodiscard]] bool waitOnce(uint32_t& turns, const WaitRules& rules) noexcept;

/// Stores the value (release) and wakes sleepers, if any.
void raise(FlagWord& flag, uint32_t value) noexcept;
/// Adds to the value and wakes sleepers, if any. Returns the value after.
uint32_t add(FlagWord& flag, uint32_t amount) noexcept;

}  // namespace autoccl
