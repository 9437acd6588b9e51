// From steps to passes over memory: what a rank receives, combines, stores and sends on at once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/types.h"
#include "plan/plan.h"

namespace autoccl {

/// One pass: combine up to three messages and this rank's own part, store, send to up to three
/// peers. NCCL's primitives are its special cases: send, recv, recvReduceSend, recvCopySend,
/// recvReduceCopySend, copySend.
struct Action {
  enum class Read : uint8_t { kNone, kSource, kAccum, kOut };  // this rank's own part
  enum class Store : uint8_t { kNone, kAccum, kOut };

  BlockRange blocks;
  uint8_t nFrom = 0;
  uint8_t nTo = 0;
  std::array<uint8_t, 3> from{};
  std::array<uint8_t, 3> to{};
  Read read = Read::kNone;
  /// kOut: blocks that this rank outputs go to its receive buffer, others to the accumulator.
  Store store = Store::kNone;
  bool last = false;  // the sum is complete here
};

struct Strand {
  int rail = 0;
  std::vector<Action> actions;
};

/// A plan as the engine runs it. The accumulator is the receive buffer for AllReduce, and memory of
/// the engine's own, one slice a block, for the others.
struct Program {
  int nBlocks = 1;
  int rails = 1;
  bool accumulates = false;  // some action stores into the accumulator
  std::vector<Strand> strands;
};

/// Pure. A message that is sent on is not stored unless someone reads it later. At most 255 ranks.
[[nodiscard]] Program fuse(const Plan& plan, Collective collective, Seat seat);

/// "send", "recvReduceSend" …: for tests and explanations.
[[nodiscard]] const char* nameOf(const Action& action) noexcept;

}  // namespace autoccl
