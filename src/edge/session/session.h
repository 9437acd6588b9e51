// Joins an engine with the tuner and the agreement: one session per communicator and process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "agree/endpoint.h"
#include "edge/session/measuring.h"
#include "edge/session/sample_joiner.h"
#include "model/gate.h"
#include "model/space.h"

namespace autoccl {

/// What it does. Gives the engine a CallGate, so that every call takes its config from the agreed
/// table; an agent thread moves samples to the leader (rank 0), which runs the Tuner,
/// proposes tables, writes the journal, the run record and (through `autoccl run`) the profile.
/// Threads. stepMark, settled and abort from any thread; open and destruction from the thread that
/// makes and destroys the communicator, with no call under way.
/// Joining. open() waits for nobody. Until all ranks have joined and their digests agree every call
/// runs its fallback; where a rank has not come within AUTOCCL_INIT_TIMEOUT, tuning stays off and
/// one line in the log names it.
/// Cost. A call pays one look-up, two clock reads and one ring push; see bench/agree.
/// Errors. Never fails the program: what goes wrong switches tuning off and is noted in the record.
class TuningSession {
 public:
  /// Ranks of one host share memory: zeroed, sharedBytes(nRanks), aligned to 64.
  struct SharedMemory {
    std::span<std::byte> area;
  };
  /// Ranks that share none: rank 0 listens on the first place it can bind, the others call them in
  /// turn until one shows the key. Equal on all ranks; see rendezvous.h.
  struct Tcp {
    std::vector<TcpEndpoint> candidates;
  };
  /// What a session needs to know of its communicator.
  struct Seat {
    int rank = 0;
    int nRanks = 1;
    std::string name;
    /// Names the leader's journal where `name` is another one in every run; empty: name. Only the
    /// leader needs it: other ranks that do not know it leave no flight recording.
    std::string journal;
    uint64_t sessionId = 0;         // equal on all ranks, different for every communicator
    std::array<uint8_t, 16> key{};  // secret of the ranks
    std::string engine = "cpu";     // as the run record names it
    std::string library;            // the engine and its version: must be equal on all ranks
    std::string capabilities;       // what it can do here: likewise
    std::variant<SharedMemory, Tcp> link;
    JoinRule joinRule = JoinRule::kSharedClock;
    Measuring measuring = Measuring::kEveryCall;
    std::function<void(CallGate*)> setGate;      // called by open() and by the destructor
    std::function<Space(const Task&)> spaceFor;  // rank 0's, from the agent thread
    /// Whether this rank can run it, where ranks may differ in that; empty: it can run all. From
    /// the agent thread.
    std::function<bool(const Config&)> canRun;
    /// A sentence for the record on what the default is, where the engine knows more than its
    /// config tells; may be empty, and give empty ones. Rank 0's, from the agent thread.
    std::function<std::string(const Task&)> describeDefault;

    [[nodiscard]] const std::string& journalName() const {
      return journal.empty() ? name : journal;
    }
  };

  /// Bytes of shared memory that a session of nRanks needs.
  [[nodiscard]] static size_t sharedBytes(int nRanks);
  /// Throws Error where a setting is wrong.
  [[nodiscard]] static std::unique_ptr<TuningSession> open(Seat seat);
  ~TuningSession();
  TuningSession(const TuningSession&) = delete;
  TuningSession& operator=(const TuningSession&) = delete;

  void stepMark() noexcept;                     // acclStepMark
  [[nodiscard]] bool settled() const noexcept;  // acclCommTuned
  void abort() noexcept;  // ends waits at fences: before Abort, Finalize and Destroy

  class Impl;

 private:
  explicit TuningSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace autoccl
