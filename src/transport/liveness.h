// Are the peers still alive? One pidfd per peer process, asked without blocking.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <deque>

#include "transport/fd.h"

namespace autoccl {

/// Watches the processes of a group's ranks; who is never watched (a rank in this process) is
/// alive. watch belongs to set-up; the rest is thread-safe, makes one system call and allocates
/// nothing.
class Liveness {
 public:
  /// Watches rank `rank`, a process `pid`. A process that is gone already counts as dead. Throws
  /// Error.
  void watch(int rank, pid_t pid);
  /// A dead rank of which `matters(rank)` is true, or -1.
  template <class Matters>
  [[nodiscard]] int findDead(const Matters& matters) noexcept {
    poll();
    for (const Peer& peer : peers_)
      if (peer.dead.load(std::memory_order_acquire) && matters(peer.rank)) return peer.rank;
    return -1;
  }
  [[nodiscard]] bool dead(int rank) noexcept {
    return findDead([rank](int r) { return r == rank; }) >= 0;
  }

 private:
  struct Peer {
    int rank = 0;
    Fd fd;
    std::atomic<bool> dead{false};
  };
  void poll() noexcept;
  std::deque<Peer> peers_;
};

}  // namespace autoccl
