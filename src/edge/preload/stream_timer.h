// Times of calls on their streams, by CUDA events.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "edge/nccl/identity.h"
#include "edge/preload/driver.h"
#include "edge/preload/nccl_types.h"

namespace autoccl::preload {

/// One call being timed: two events and what was asked of it.
struct TimedSlot {
  enum class State : uint8_t {
    kBare,   // has no events yet: the timer's thread makes them
    kFree,   // the next call may take it
    kTaken,  // a call is between its two events
    kArmed   // both are recorded: the timer's thread waits for them
  };
  std::atomic<State> state{State::kBare};
  Driver::Event start = nullptr, end = nullptr;
  uint32_t order = 0;    // of the calls of its lane
  int64_t issuedNs = 0;  // nowNs() at the call
  nccl::StreamTime time;
};

/// The slots of one communicator. A call takes the next slot, or goes untimed when it is not free.
/// Few slots have events at first; each time they do not suffice the timer's thread makes as many
/// again, up to kSlots calls that are timed at once.
class TimedLane {
 public:
  static constexpr size_t kSlots = 256;
  static constexpr uint32_t kFirstSlots = 16;

 private:
  friend class StreamTimer;
  std::atomic<uint32_t> next_{0};
  std::atomic<uint32_t> ready_{0};  // slots that have events
  std::atomic<bool> short_{false};  // they did not suffice
  std::array<TimedSlot, kSlots> slots_;
  std::mutex mutex_;  // held while a time is reported, and by close; never in a call
  nccl::KnownCommunicator* of_ = nullptr;  // null: the lane is idle
  std::atomic<bool> open_{false};
  Driver::Context context_ = nullptr;
};

/// Records an event before and after a call on the call's stream; a thread of its own asks for the
/// events in relaxed capture mode, so that it never disturbs a capture, and reports the time
/// between them: the wait for SMs is in it, as design 4 wants of stream time.
///
/// begin and end are HOT (two calls of the driver beside them; nothing is made, freed or waited
/// for); open and close are cold. The thread starts with the first lane, blocks all signals, is
/// never joined, and makes no call of NCCL; stop() asks it to leave the driver alone before the
/// process ends. Errors of the driver end the timing of the call they meet.
class StreamTimer {
 public:
  static constexpr size_t kLanes = 64;  // communicators timed at once
  using Report = void (*)(nccl::KnownCommunicator&, const nccl::StreamTime&) noexcept;

  using FindDriver = const Driver* (*)() noexcept;

  /// `report` is called by the timer's thread.
  explicit StreamTimer(Report report, FindDriver find = &Driver::find) noexcept
      : report_(report), find_(find) {}

  /// A lane for this communicator, whose context is current on this thread; null when there is no
  /// driver, no context or no lane left.
  [[nodiscard]] TimedLane* open(nccl::KnownCommunicator& communicator) noexcept;
  /// No time of this lane is reported from here on.
  void close(TimedLane& lane) noexcept;

  /// Null where this call goes untimed.
  [[nodiscard]] TimedSlot* begin(TimedLane& lane, Stream stream) noexcept;
  void end(TimedSlot& slot, Stream stream, const nccl::CallNote& note) noexcept;
  void drop(TimedSlot& slot) noexcept { slot.state.store(TimedSlot::State::kFree); }

  /// Waits up to 50 ms for the thread to be outside the driver; it does not go in again.
  void stop() noexcept;
  /// In a forked child, where the thread is not.
  void forget() noexcept { stopped_.store(true); }

 private:
  void serve() noexcept;
  bool visit(TimedLane& lane) noexcept;
  void makeSlots(TimedLane& lane, uint32_t count) noexcept;
  static bool makeEvents(const Driver& driver, TimedSlot& slot) noexcept;
  void freeEvents(TimedLane& lane) noexcept;
  bool collectAll(TimedLane& lane) noexcept;
  bool collect(TimedLane& lane, TimedSlot& slot) noexcept;  // false: it has not ended

  Report report_;
  FindDriver find_;
  std::atomic<const Driver*> driver_{nullptr};  // set before the first lane is open
  std::array<TimedLane, kLanes> lanes_;
  std::mutex starting_;
  bool started_ = false;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> inDriver_{false};
};

}  // namespace autoccl::preload
