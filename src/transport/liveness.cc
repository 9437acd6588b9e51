#include "transport/liveness.h"

#include <poll.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.h"

namespace autoccl {

void Liveness::watch(int rank, pid_t pid) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const int error = errno;
  if (!fd && error != ESRCH)
    throw Error(ErrorCode::kSystem,
                "cannot watch rank " + std::to_string(rank) + " (process " + std::to_string(pid) +
                    "): pidfd_open: " + std::generic_category().message(error),
                "needs Linux 5.3 and a `ulimit -n` above the number of ranks");
  Peer& peer = peers_.emplace_back();
  peer.rank = rank;
  peer.dead.store(!fd, std::memory_order_release);
  peer.fd = std::move(fd);
}

void Liveness::poll() noexcept {
  constexpr size_t kBlock = 64;
  std::array<pollfd, kBlock> block;
  std::array<Peer*, kBlock> who;
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    size_t n = 0;
    for (; peer != peers_.end() && n < kBlock; ++peer) {
      if (peer->dead.load(std::memory_order_relaxed)) continue;
      block[n] = {peer->fd.get(), POLLIN, 0};
      who[n++] = &*peer;
    }
    if (n == 0 || ::poll(block.data(), n, 0) <= 0) continue;
    for (size_t i = 0; i < n; ++i)
      if (block[i].revents != 0) who[i]->dead.store(true, std::memory_order_release);
  }
}

}  // namespace autoccl
