// Keeps communicators that we make under other variables of NCCL apart from those of the program.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace autoccl::preload {

/// Variables of NCCL and their values.
using NcclVariables = std::vector<std::pair<std::string, std::string>>;

/// What it does. NCCL reads its variables while a communicator is made, on threads of its own, so
/// for that time the whole process sees ours. The program's own inits wait meanwhile, and ours wait
/// for those under way; several of ours may go together under the same variables (GPUs of one
/// process).
/// The environment. It is never changed in place: `environ` is pointed at a copy with our values
/// and back again, so a thread that reads it meanwhile finds one or the other, whole. A thread that
/// *writes* it (setenv, putenv) at that very moment races with us as it would with any other
/// writer; where it has written between, our values are taken out one by one. Copies are kept for
/// the process's life, since whoever asked may hold what it was given.
/// Thread-safe, cold. What waits naps.
class InitGate {
 public:
  static InitGate& ofProcess() noexcept;

  /// Before the program's own init; returns when none of ours is under way. `note` is called before
  /// the gate opens again: it makes the init known to initUnderWay (identity.h).
  template <class Note>
  void pass(Note note) noexcept {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (ours_ == 0) return note();
      }
      nap();
    }
  }

  /// False, and nothing is changed, where the deadline (nowNs()) comes first.
  [[nodiscard]] bool begin(const NcclVariables& variables, int64_t deadlineNs);
  void end() noexcept;

 private:
  static void nap() noexcept;
  [[nodiscard]] bool tryBegin(const NcclVariables& variables);
  void swapIn();
  void swapOut() noexcept;

  std::mutex mutex_;
  int ours_ = 0;
  NcclVariables inForce_;
  NcclVariables before_;         // of inForce_, with the values the program has
  std::vector<bool> hadBefore_;  // likewise: whether it was set
  char** program_ = nullptr;     // its environment
  char** swapped_ = nullptr;     // ours
};

}  // namespace autoccl::preload
