// What the ranks send, and what must come back: float32 values that are exact under any order of
// summation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/types.h"

namespace autoccl::bench {

/// One call's shape. `count` is elements of the larger side (nBytes / 4); `salt` changes from call
/// to call, so a result left over from the call before is seen as wrong.
struct Shape {
  Collective collective = Collective::kAllReduce;
  int rank = 0;
  int nRanks = 1;
  size_t count = 0;
  uint32_t salt = 0;
};

/// Elements that a rank sends and receives. AllReduce, Reduce and Broadcast work in place: one
/// buffer of `count`. Others send from one buffer into another.
[[nodiscard]] size_t sendCount(const Shape&) noexcept;
[[nodiscard]] size_t receiveCount(const Shape&) noexcept;
[[nodiscard]] bool inPlace(Collective) noexcept;

/// Writes this rank's input at store bandwidth (repeated copies of a 4 KiB table).
void writeInput(const Shape&, std::span<float> send) noexcept;
/// Elements of `received` that differ from what the collective must give (sum, root 0).
[[nodiscard]] uint64_t countWrong(const Shape&, std::span<const float> received) noexcept;

/// True for the collectives that the bench can run.
[[nodiscard]] bool benchable(Collective) noexcept;

}  // namespace autoccl::bench
