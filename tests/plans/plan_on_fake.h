// Runs all ranks' plans of one call over the fake wire, one step at a time in a chosen order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/shape.h"

namespace autoccl {

/// What a run showed. Words are elements of 8 bytes.
struct FakeRun {
  std::vector<std::vector<uint64_t>> recv;  // each rank's receive buffer
  std::string fault;                        // empty, or what went wrong
  uint64_t steps = 0;                       // most communicating steps of one flow
  int depth = 0;                            // messages one after another on the longest way
  uint64_t sent = 0;                        // words, of the rank that sent most
  uint64_t received = 0;                    // words, of the rank that received most
  uint64_t reduced = 0;                     // words, of the rank that combined most
  /// Words that one flow moved without pipelining: a step's send and receive overlap, steps do not.
  uint64_t serial = 0;
};

struct FakeOptions {
  int rounds = 1;       // slices of each block, run one after another without a barrier
  size_t capacity = 4;  // messages a queue holds
  uint64_t seed = 0;    // 0: lock-step, all flows in turn; else a random order of flows
};

/// `shape.elementBytes` must be 8. Send buffers are given; receive buffers start as `untouched`.
inline constexpr uint64_t kUntouched = 0xdeadbeefdeadbeef;
[[nodiscard]] FakeRun runOnFakeWire(const std::function<Plan(Seat)>& make,
                                    const std::vector<CallShape>& shapeOfRank,
                                    const std::vector<std::vector<uint64_t>>& send,
                                    const std::vector<size_t>& recvLength,
                                    const FakeOptions& options = {});

}  // namespace autoccl
