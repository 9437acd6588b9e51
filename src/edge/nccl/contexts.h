// All communicators of this process that a plugin has met.
#pragma once

#include <unistd.h>

#include <deque>
#include <memory>
#include <mutex>
#include <set>

#include "edge/nccl/comm_context.h"

namespace autoccl::nccl {

/// Makes and keeps contexts. A communicator has up to two users, its profiler and its tuner; when
/// both have ended the context is closed, and its memory is kept for late events until 64 others
/// have closed. NCCL begins the profiler right before the tuner on the same thread, so the rank,
/// which only the profiler is told, comes over by thread. Thread-safe, cold; begin* may throw.
class Contexts {
 public:
  static Contexts& ofProcess();

  [[nodiscard]] Sampling& sampling() noexcept { return sampling_; }
  CommContext* beginProfiler(const Origin& origin);
  CommContext* beginTuner(const Origin& origin);
  /// For the interface without a context (tuner v1) and releases without a tuner (0): the
  /// interposer's communicator's, made at its first call; null where nobody knows whose call it is.
  CommContext* ofCurrentCall(int tunerVersion);
  void end(CommContext* context) noexcept;
  /// The process ends: sessions say goodbye to each other and write their records.
  void closeAll() noexcept;

 private:
  Contexts() = default;
  CommContext* make(const Origin& origin, int users);
  /// The context that the profiler has begun, with one user more; null where it is not that one.
  CommContext* join(const CommContext* begun, const Origin& origin);

  static constexpr size_t kClosedKept = 64;
  struct Entry {
    std::unique_ptr<CommContext> context;
    int users = 0;
  };
  const pid_t process_ = getpid();
  std::mutex mutex_;
  Sampling sampling_;
  std::deque<Entry> open_;
  std::deque<std::unique_ptr<CommContext>> closed_;
};

}  // namespace autoccl::nccl
