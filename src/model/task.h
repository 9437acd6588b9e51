// The unit that is tuned: this collective, these bytes, this group.
#pragma once

#include <cstdint>
#include <string>

#include "model/types.h"

namespace autoccl {

/// Only values that are equal on all ranks: no addresses, registration, streams or times.
/// nBytes as NCCL counts it (element size x larger of total send and receive count).
/// bytes is the size class the engine tunes (see sizeClass); it is what enters the key.
struct Task {
  uint64_t communicator = 0;  // 0: the one whose table holds the task, as with the CPU engine
  Collective collective = Collective::kAllReduce;
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int nRanks = 1;
  uint64_t bytes = 0;
  /// What else the engine tells calls apart by, alike on all ranks (NCCL: the set of pairs it can
  /// run); 0 where there is nothing.
  uint32_t variant = 0;

  friend bool operator==(const Task&, const Task&) = default;
};

/// Stable 64-bit hash of all fields, never 0: the task's name on the wire and in tables.
[[nodiscard]] uint64_t keyOf(const Task&) noexcept;

/// "allreduce 1M float32 sum x2"; without "any"; " #1f" for a variant.
[[nodiscard]] std::string toText(const Task&);

/// Quarter-octave class of a size: the largest 2^(k/4) at or below nBytes, rounded down to 16 B
/// (sizes below 256 B are their own class). Pure; used for sizes beyond the committed exact list.
[[nodiscard]] uint64_t sizeClass(uint64_t nBytes) noexcept;

}  // namespace autoccl
