// Joins the CPU engine with the tuner: one session per communicator and process.
#pragma once

#include <cstddef>
#include <memory>

namespace autoccl {

class Communicator;  // src/engine/communicator.h

/// What it does. Installs a CallGate on the communicator, so that every call takes its config from
/// the agreed table; an agent thread moves samples to the leader (rank 0), which runs the Tuner,
/// proposes tables, writes the journal, the run record and (through `autoccl run`) the profile.
/// Threads. stepMark, settled and abort from any thread; attach and destruction from the thread
/// that makes and destroys the communicator, with no call under way.
/// Cost. A call pays one look-up, two clock reads and one ring push; see bench/gate.
/// Errors. Never fails the program: what goes wrong switches tuning off and is noted in the record.
class TuningSession {
 public:
  /// Bytes of Communicator::sharedArea() that a session of nRanks needs.
  [[nodiscard]] static size_t sharedBytes(int nRanks);
  /// Null when AUTOCCL_TUNE is off or the communicator has one rank. Never throws.
  [[nodiscard]] static std::unique_ptr<TuningSession> attach(Communicator& communicator) noexcept;
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
