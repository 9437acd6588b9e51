// Joins the GPU's stamps with the calls that were decided: a decision, then the collective's event,
// then a start and a stop for each channel.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "edge/nccl/pairs.h"
#include "model/config.h"

namespace autoccl::nccl {

/// A call as the tuner decided it.
struct DecidedCall {
  uint64_t taskKey = 0;
  uint64_t callIndex = 0;
  Config asked;
  int func = -1;
  uint64_t bytes = 0;     // as NCCL told the tuner; the sum, where NCCL has joined several calls
  bool onStream = false;  // it is timed on its stream as well
};

/// The same, run. Timers are the GPU's, in ns, comparable on that GPU alone.
struct StampedCall {
  DecidedCall call;
  std::optional<Pair> ran;
  int channels = 0;  // the most of its collectives
  uint64_t startTimer = 0;
  uint64_t stopTimer = 0;
};

/// What it does. Keeps the last 256 decided calls in a fixed ring. A collective's event is given to
/// the waiting decision of its function and bytes, or takes its part of a larger one (NCCL decides
/// once for calls that it joins); the call's time is its last stop minus its first start, known
/// when every channel has stopped. What fits two decisions, or none, is nobody's.
/// Handles are what NCCL keeps for us: a slot's address and its generation, so that an event that
/// comes too late for its slot is known and ignored.
/// Threads. decided and collStarted from the threads that issue and launch calls (where two meet,
/// one sample is lost), channelStarted and channelStopped from NCCL's progress thread.
/// HOT: no lock, allocation, log or system call. Lost, ambiguous and absurd samples are counted.
class StampJoin {
 public:
  /// `owner`: whoever wants to be found again from a handle.
  explicit StampJoin(void* owner) noexcept : owner_(owner) {}
  void decided(const DecidedCall& call) noexcept;
  /// The handle for the collective's event; null where it belongs to no decision.
  void* collStarted(int func, uint64_t bytes, int channels, std::optional<Pair> ran) noexcept;
  /// The handle for the channel's event; null where `coll` is null or too old.
  [[nodiscard]] static void* channelStarted(void* coll, uint64_t startTimer) noexcept;
  /// The whole call, once its last channel has stopped.
  [[nodiscard]] std::optional<StampedCall> channelStopped(void* channel,
                                                          uint64_t stopTimer) noexcept;
  /// Forgets decisions that wait for their event: sampling was off in between.
  void restart() noexcept { epoch_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }
  /// The join that a channel's handle belongs to; null for null.
  [[nodiscard]] static StampJoin* joinOf(void* channel) noexcept;
  [[nodiscard]] void* owner() const noexcept { return owner_; }

 private:
  static constexpr uint32_t kSlots = 256;
  // A slot's life: generation in the upper half; below, channels still to stop (and 1 while its
  // collectives are not all known), or one of these.
  static constexpr uint32_t kFree = 0xffffffffU;
  static constexpr uint32_t kReading = 0;  // the last channel has stopped; its fields are read

  struct alignas(64) Slot {
    std::atomic<uint64_t> life{kFree};
    std::atomic<uint64_t> start{0};
    std::atomic<uint64_t> stop{0};
    StampJoin* join = nullptr;
    DecidedCall call;
    uint64_t remaining = 0;  // bytes whose event has not come
    uint32_t epoch = 0;
    int channels = 0;
    std::optional<Pair> ran;
  };

  /// The ring is for one thread at a time; who finds it taken gives its sample up.
  class Turn;
  [[nodiscard]] Slot* waitingFor(int func, uint64_t bytes) noexcept;
  [[nodiscard]] bool waits(const Slot& slot, int func) const noexcept;
  void giveUp(Slot& slot) noexcept;
  void drop() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }

  void* owner_;
  std::array<Slot, kSlots> slots_;
  uint32_t head_ = 0;  // the next slot to use
  uint32_t tail_ = 0;  // the oldest that may still wait
  std::atomic_flag taken_;
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace autoccl::nccl
