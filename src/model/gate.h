// The seam between an engine and the tuner: who decides a call's config, and who hears how it went.
#pragma once

#include <cstdint>

#include "model/call_sample.h"
#include "model/config.h"
#include "model/task.h"

namespace autoccl {

/// One finished call as one rank saw it. Times are of one clock in all of a rank's records: nowNs()
/// of this host where ranks are joined by a shared clock, else any, a device's too.
struct CallRecord {
  uint64_t taskKey = 0;
  uint64_t callIndex = 0;
  Config asked;               // what the gate gave
  Config inEffect;            // what the engine ran; a difference makes the sample a failed trial
  int64_t arrivedNs = 0;      // this rank entered the call (stream ready)
  int64_t lastArrivalNs = 0;  // the last rank entered, as far as this rank can know; 0: unknown
  int64_t finishedNs = 0;
  bool failed = false;
  bool untouched = false;  // asked is the engine's default
  CallClock clock = CallClock::kEngine;
};

/// Where a task's table stands at one of its calls.
enum class TaskStage : uint8_t {
  kUntried,  // nothing has been changed yet
  kTrial,    // trials are under way, or agreed for calls to come
  kServed    // its last config is in force
};

/// Decides the config of each call. An engine without a tuner has no gate (nullptr) and runs its
/// default. One gate serves one communicator of one process.
///
/// Threads. take: any thread, one at a time, since its order is what ranks have in common; an
/// engine
///   that lets several threads issue on one communicator puts them in order first. Threads that do
///   race break nothing: counters stay whole, and ranks whose sequences differ turn tuning off.
/// resolve: any thread, any number at once, exactly once for each ticket: an index that is never
///   resolved keeps old tables in memory.
/// report: any thread, none of the above needed: later, out of order, or never. Two at once lose
///   the second, counted.
/// All of them end before the gate is taken back (Seat::setGate(nullptr)).
///
/// HOT: take and report make no allocation, lock, log or system call; resolve too, unless the
/// call's index has a fence without verdict, where it waits (design, rule 4).
class CallGate {
 public:
  /// A call's place in its task's sequence, equal on all ranks.
  struct Ticket {
    uint32_t slot = 0;  // the task's place in the gate's table
    uint64_t index = 0;
    /// Set by the engine between take and resolve, alike on all ranks: the call will be repeated
    /// unseen (captured into a graph), so it must get no trial.
    bool calm = false;
  };
  virtual ~CallGate() = default;

  /// Takes the next call index of `task`; in the order of issue. `fallback` is the engine's default
  /// for it, used until the leader says otherwise. Not hot the first time a task is seen.
  virtual Ticket take(const Task& task, const Config& fallback) noexcept = 0;
  /// The config of that index, for a calm ticket the one that the trials around it are held
  /// against; `config` comes in as the fallback and stays so where the gate knows
  /// nothing of the task. False: the communicator is broken (a rank in doubt timed out) or aborted.
  virtual bool resolve(Ticket ticket, Config& config) noexcept = 0;
  /// The same for an engine whose measuring costs: it need report only calls that somebody waits
  /// for, which are those of trials and, while nothing is settled, of tasks that are untried.
  virtual bool resolve(Ticket ticket, Config& config, TaskStage& stage) noexcept {
    stage = TaskStage::kTrial;
    return resolve(ticket, config);
  }
  /// Such an engine tells of every call as it is issued, until the tuner has settled: the sequence
  /// says where a training step begins. In the order of issue.
  virtual void issued(uint64_t /*taskKey*/) noexcept {}
  /// Says how the call went. Drops and counts when the ring is full.
  virtual void report(const CallRecord& record) noexcept = 0;
};

}  // namespace autoccl
