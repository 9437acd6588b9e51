// What the interposer knows and does in a process that is tuned.
#pragma once

#include <atomic>
#include <cstdint>

#include "edge/preload/comm_book.h"
#include "edge/preload/family.h"
#include "edge/preload/nccl_types.h"
#include "edge/preload/stream_timer.h"
#include "edge/preload/target.h"
#include "edge/preload/thread_state.h"

namespace autoccl::preload {

/// What a wrapper knows of a collective or a p2p call.
struct CallFacts {
  Collective collective = Collective::kSendRecv;
  size_t count = 0;
  int dtype = 0;
  int op = 0;
  Comm comm = nullptr;
  Stream stream = nullptr;
  const void* send = nullptr;
  void* recv = nullptr;
  int root = 0;
  bool configured = false;  // the call brings a config of its own (2.31)
};

/// What a wrapper knows of a call that makes communicators.
struct InitFacts {
  Comm* newComm = nullptr;
  Comm parent = nullptr;
  const UniqueId* ids = nullptr;
  Comm* comms = nullptr;  // ncclCommInitAll
  int nRanks = -1;
  int rank = -1;
  int nDevices = 0;
  int colour = 0;
  const void* config = nullptr;
};

struct QueryFacts {
  Comm comm = nullptr;
  int* asyncError = nullptr;
};

/// Made by the first NCCL call of a process that is tuned, and never destroyed: threads may call
/// NCCL until the very end. Without it every call is passed on untouched.
struct Watcher {
  CommBook book;
  StreamTimer timer;
  std::atomic<uint64_t> unknown{0};  // calls on communicators that found no place in the book
  std::atomic<uint64_t> registrations{0};
  const bool routes;  // AUTOCCL_VARIANTS or AUTOCCL_DIRECT asks for more ways than NCCL's own

  explicit Watcher(StreamTimer::Report report, bool withRoutes = false) noexcept
      : timer(report), routes(withRoutes) {}
  /// Null where tuning is off. HOT: one load once that is decided.
  [[nodiscard]] static Watcher* get() noexcept {
    const State state = state_.load(std::memory_order_acquire);
    if (state == State::kOff) return nullptr;
    return state == State::kOn ? instance_ : decide();
  }
  /// Passes everything on from here (a forked child, the end of the process).
  static void retire() noexcept { state_.store(State::kOff); }

 private:
  enum class State : uint8_t { kUndecided, kOff, kOn };
  static Watcher* decide() noexcept;

  static constinit std::atomic<State> state_;
  static constinit Watcher* instance_;
};

/// The entry of a communicator; one that came to be unseen is met here. Null when the book is full.
/// HOT for a communicator that is known.
[[nodiscard]] CommEntry* entryOf(Watcher& watcher, Comm comm) noexcept;

/// What NCCL's numbers mean; an operation that a program has made is kScaledSum.
struct ModelTypes {
  DataType dtype{};
  ReduceOp op{};
};
[[nodiscard]] ModelTypes modelTypes(int dtype, int op) noexcept;

/// Asks NCCL for rank, size and device, where they are not known yet.
void askNccl(CommEntry& entry, Comm comm) noexcept;

/// Where calls go; serves tuned and untuned processes alike.
extern constinit Targets targets;

/// One line a symbol; the result of a call that no loaded library has.
int missingTarget(Symbol symbol) noexcept;

/// This thread is inside a call of NCCL for as long as it lives.
class Inside {
 public:
  Inside() noexcept { ++threadState.inside; }
  ~Inside() { --threadState.inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// Around a collective: counts it by task, says to the plugins whose it is, and times it.
/// HOT: no allocation, lock, log or system call of ours, but for a communicator's first call.
class CallWatch {
 public:
  CallWatch(Watcher& watcher, const CallFacts& facts) noexcept;
  /// Where it goes.
  [[nodiscard]] const Route& route() const noexcept { return route_; }
  /// The result that the user gets.
  [[nodiscard]] int after(int result) noexcept;

 private:
  Watcher& watcher_;
  CommEntry* entry_;
  Stream stream_;
  Route route_;
  std::atomic<bool>* timing_ = nullptr;  // whether its task's next call is to be timed
  TimedSlot* slot_ = nullptr;
  bool alone_;  // not in a group: it runs now
  Inside inside_;
};

/// Around Send and Recv: counts them.
class P2pWatch {
 public:
  P2pWatch(Watcher& watcher, const CallFacts& facts) noexcept;

 private:
  Inside inside_;
};

/// Around GroupStart, GroupEnd and GroupSimulateEnd.
class GroupWatch {
 public:
  GroupWatch(Watcher& watcher, Symbol symbol) noexcept;
  [[nodiscard]] int after(int result) noexcept;

 private:
  void settleInits(int result) noexcept;

  Watcher& watcher_;
  Symbol symbol_;
  bool outermost_ = false;  // this call ends the whole group
  GroupWork work_;
  TimedSlot* slot_ = nullptr;
  Inside inside_;
};

/// Around the calls that make communicators.
class InitWatch {
 public:
  InitWatch(Watcher& watcher, Symbol symbol, const InitFacts& facts) noexcept;
  [[nodiscard]] int after(int result) noexcept;

 private:
  void describe(CommEntry& entry) const noexcept;
  void afterInitAll(int result) noexcept;

  Watcher& watcher_;
  Symbol symbol_;
  InitFacts facts_;
  CommEntry* entry_ = nullptr;
  bool nested_;  // NCCL's own call, from inside another
  Inside inside_;
};

/// Before Finalize, Destroy, Abort and Revoke: ends the tuner's waits, and with the last calls of a
/// communicator's life forgets it.
void beforeEnd(Watcher& watcher, Symbol symbol, Comm comm) noexcept;

/// After CommGetAsyncError: a communicator that the tuner had to break is reported as such.
void addOurError(Watcher& watcher, const QueryFacts& facts, int result) noexcept;

}  // namespace autoccl::preload
