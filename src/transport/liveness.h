// Are the peers still alive? One pidfd per peer process, asked without blocking.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <atomic>
#include <vector>

#include "transport/fd.h"

namespace autoccl {

/// Watches the processes of a group's ranks. A rank in this process counts as alive for ever.
/// allAlive is thread-safe and makes one system call; the rest belongs to set-up.
class Liveness {
 public:
  Liveness() = default;
  /// Watches rank `rank`, a process `pid`. A process that is gone already counts as dead.
  void watch(int rank, pid_t pid);
  /// False once any watched process has ended. One poll(2), no allocation.
  [[nodiscard]] bool allAlive() noexcept;
  [[nodiscard]] bool alive(int rank) noexcept;
  /// The first rank found dead, or -1.
  [[nodiscard]] int deadRank() const noexcept { return dead_.load(std::memory_order_acquire); }

 private:
  struct Peer {
    int rank = 0;
    Fd fd;
  };
  std::vector<Peer> peers_;
  std::atomic<int> dead_{-1};
};

}  // namespace autoccl
