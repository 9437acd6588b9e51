// What the interposer and the plugins tell each other: which communicator a call is about, and what
// the tuner answered in it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/config.h"
#include "model/task.h"

namespace autoccl::nccl {

inline constexpr size_t kUniqueIdBytes = 128;

/// A communicator as the interposer saw it come to be. Lives in the interposer's pool for as long
/// as the process, so a pointer to it stays good after ncclCommDestroy; the pool hands the record
/// on to a later communicator only after endCommunicator.
/// Written by the interposer before the communicator's first call; then constant but for the
/// atomics.
struct KnownCommunicator {
  std::array<std::byte, kUniqueIdBytes> uniqueId{};  // of the root communicator it descends from
  uint64_t path = 0;   // 0: made from the id; else a hash of (parent's path, which child, colour)
  bool hasId = false;  // the id was seen; a communicator met in the middle of its life has none
  int rank = -1;       // -1: not known
  int nRanks = -1;     // -1: not known
  int device = -1;     // of the context that was current; -1: not known
  bool isVariant = false;               // made by us beside a communicator of the program's
  std::atomic<void*> context{nullptr};  // the plugin's own, bound at its first call
  std::atomic<bool> wantsTimes{false};  // plugin: it is tuned, so calls are timed on their stream
  std::atomic<bool> broken{false};      // plugin: a rank in doubt timed out (design, 5.4)
};

/// One pnccl call under way on this thread. The interposer fills the upper half before the call and
/// clears it after; the plugin answers into the lower half, when NCCL asks it on the same thread.
struct CallNote {
  KnownCommunicator* communicator = nullptr;  // all work of the call is this one's; null: unknown,
                                              // or several in a group
  std::span<KnownCommunicator* const> communicators{};  // of such a group, each once
  KnownCommunicator* initialising = nullptr;            // this call makes it
  bool simulating = false;  // ncclGroupSimulateEnd: nothing will run, nothing may be counted
  bool capturing = false;   // the stream is being captured into a graph
  bool timed = false;       // it is being timed on its stream
  bool switchable = false;  // the interposer can run it on a variant: its task is one of those
  bool decided = false;     // and has: the lower half says what, nothing is left to count

  uint32_t decisions = 0;    // calls that the tuner counted in it
  bool measure = false;      // the time of the last of them is wanted
  bool measureNext = false;  // and of its task's next call
  uint64_t taskKey = 0;      // of the last of them
  uint64_t callIndex = 0;
  Config asked;
  Task task;  // of the last of them, where it is switchable
};

/// This thread's note.
inline thread_local constinit CallNote callNote{};

/// A call's time on its stream, from ready to done, by CUDA events. Device time of one rank.
struct StreamTime {
  uint64_t taskKey = 0;
  uint64_t callIndex = 0;
  Config asked;
  int64_t durationNs = 0;
  int64_t finishedNs = 0;  // nowNs() at the call, plus the duration
};

/// What became of the tuner's answers, for the line at exit.
struct Tally {
  uint64_t tuned = 0;      // calls that got a config other than NCCL's own choice
  uint64_t untouched = 0;  // calls that were left alone
  const char* why = "";    // why the last of those was; static text
};

/// What the interposer asks of the plugins. Set once, when the plugins have begun their work in
/// this process; null before and in processes where NCCL has not loaded them.
struct PluginSide {
  /// Ends waits at fences: before Abort, Finalize, Destroy and Revoke go on. Any thread, must not
  /// block; afterwards the record's context is null.
  void (*endCommunicator)(KnownCommunicator&) noexcept = nullptr;
  /// From the interposer's timing thread. The communicator may have ended meanwhile.
  void (*reportStreamTime)(KnownCommunicator&, const StreamTime&) noexcept = nullptr;
  Tally (*tally)() noexcept = nullptr;
};
inline std::atomic<const PluginSide*> pluginSide{nullptr};

/// Whose call it is that the tuner is asked about on this thread: the note's only communicator, or
/// of a group's the only one of this size on this device (-1: of any size; not known). Null: not
/// known. NCCL makes a communicator's device current before it asks.
[[nodiscard]] KnownCommunicator* communicatorOfCall(int nRanks, int device) noexcept;

/// Communicators whose making is under way, for a plugin that is asked on another thread than the
/// user's (NCCL up to 2.27, and several communicators in one group). Thread-safe, cold.
void noteInit(KnownCommunicator& communicator) noexcept;
void forgetInit(KnownCommunicator& communicator) noexcept;
/// Whether one of the program's is among them.
[[nodiscard]] bool usersInitUnderWay() noexcept;
/// The one that is under way with this size on this device; null where none or several are.
[[nodiscard]] KnownCommunicator* initUnderWay(int nRanks, int device) noexcept;

}  // namespace autoccl::nccl
