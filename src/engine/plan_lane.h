// One thread's share of a step plan: its strands, advanced whenever their messages allow it.
#pragma once

#include <array>

#include "engine/plan_call.h"

namespace autoccl {

/// Runs (channel, thread) of a call to its end. Lives on the stack of the thread that runs it.
/// Strands of a plan take turns: one that cannot go on leaves the thread to the others, and the
/// thread waits (spin, yield or sleep on its bell) only when none can. A received message is
/// combined, stored and sent on in one pass over memory.
///
/// HOT: no allocation, lock or log; system calls only by the wait policy and for CMA.
class PlanLane {
 public:
  static constexpr int kMaxStrands = 4;

  PlanLane(const PlanContext& context, int channel, int thread);
  /// False: the call was ended (abort, a dead peer, CMA refused).
  [[nodiscard]] bool run();

 private:
  struct State {
    const Strand* strand = nullptr;
    int lane = 0;  // of the wire
    uint64_t round = 0;
    size_t action = 0;
    uint64_t bytes = 0;  // of this action's message in this round
    bool measured = false;
  };
  /// A block's slice in this round. `at` counts from the block's start.
  struct Slice {
    int block = 0;
    uint64_t at = 0;
    uint64_t bytes = 0;
  };
  enum class Sends : uint8_t { kSlots, kOwnPlace, kStoredPlace };

  [[nodiscard]] const Action& now(const State& s) const { return s.strand->actions[s.action]; }
  [[nodiscard]] bool done(const State& s) const {
    return s.round == context_.rounds || s.strand->actions.empty();
  }
  [[nodiscard]] bool advance(State& s);
  [[nodiscard]] bool ready(State& s);
  [[nodiscard]] bool anyReady();
  [[nodiscard]] bool awaitReaders();

  [[nodiscard]] Slice sliceOf(const State& s, int block) const;
  [[nodiscard]] Slice firstSlice(const State& s) const;
  void perform(const State& s);
  void pass(const State& s, const Slice& slice, uint64_t packedAt,
            const std::array<Incoming, 3>& incoming, Sends sends);
  void combine(const Action& a, const void* const* src, int nSrc, void* const* dst, int nDst,
               uint64_t bytes) const;
  [[nodiscard]] bool pull(const State& s, Incoming& incoming, int which);

  [[nodiscard]] Sends howToSend(const Action& a) const;
  void publish(const State& s, bool sendSide) const;
  [[nodiscard]] bool scales(const Action& a) const;
  [[nodiscard]] const std::byte* own(const State& s, const Slice& slice) const;
  [[nodiscard]] std::byte* stored(const State& s, const Slice& slice) const;
  [[nodiscard]] std::byte* accumulator(const State& s, const Slice& slice) const;
  [[nodiscard]] const std::byte* received(const State& s, const Slice& slice, uint64_t packedAt,
                                          const Incoming& incoming) const;

  const PlanContext& context_;
  int channel_;
  int thread_;
  int bell_;
  int nStrands_ = 0;
  bool failed_ = false;
  std::array<State, kMaxStrands> states_{};
};

}  // namespace autoccl
