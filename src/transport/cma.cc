#include "transport/cma.h"

#include <sys/uio.h>

#include <cerrno>

namespace autoccl {
namespace {

template <class Copy>
bool repeat(Copy copy, pid_t pid, uint64_t peerAddress, char* local, size_t bytes) noexcept {
  while (bytes > 0) {
    const iovec here{local, bytes};
    const iovec there{reinterpret_cast<void*>(peerAddress), bytes};
    const ssize_t n = copy(pid, &here, 1, &there, 1, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    local += n;
    peerAddress += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

bool cmaRead(pid_t pid, uint64_t peerAddress, void* to, size_t bytes) noexcept {
  return repeat(::process_vm_readv, pid, peerAddress, static_cast<char*>(to), bytes);
}

bool cmaWrite(pid_t pid, uint64_t peerAddress, const void* from, size_t bytes) noexcept {
  return repeat(::process_vm_writev, pid, peerAddress, static_cast<char*>(const_cast<void*>(from)),
                bytes);
}

}  // namespace autoccl
