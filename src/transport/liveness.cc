#include "transport/liveness.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.h"

namespace autoccl {
namespace {

bool ended(int fd) noexcept {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) > 0;
}

}  // namespace

void Liveness::watch(int rank, pid_t pid) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd && errno == ESRCH) {
    dead_.store(rank, std::memory_order_release);
    return;
  }
  if (!fd)
    throw Error(ErrorCode::kSystem,
                "cannot watch rank " + std::to_string(rank) + " (process " + std::to_string(pid) +
                    "): pidfd_open: " + std::generic_category().message(errno),
                "needs Linux 5.3 and a `ulimit -n` above the number of ranks");
  peers_.push_back({rank, std::move(fd)});
}

bool Liveness::allAlive() noexcept {
  if (dead_.load(std::memory_order_acquire) >= 0) return false;
  constexpr size_t kBlock = 64;
  std::array<pollfd, kBlock> block;
  for (size_t from = 0; from < peers_.size(); from += kBlock) {
    const size_t n = std::min(kBlock, peers_.size() - from);
    for (size_t i = 0; i < n; ++i) block[i] = {peers_[from + i].fd.get(), POLLIN, 0};
    if (::poll(block.data(), n, 0) <= 0) continue;
    for (size_t i = 0; i < n; ++i)
      if (block[i].revents != 0) dead_.store(peers_[from + i].rank, std::memory_order_release);
  }
  return dead_.load(std::memory_order_acquire) < 0;
}

bool Liveness::alive(int rank) noexcept {
  if (dead_.load(std::memory_order_acquire) == rank) return false;
  const auto peer = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.rank == rank; });
  return peer == peers_.end() || !ended(peer->fd.get());
}

}  // namespace autoccl
