#include "transport/unix_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/clock.h"
#include "base/error.h"

namespace autoccl {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

socklen_t fill(sockaddr_un& address, const std::string& name) {
  if (name.empty() || name.size() + 1 > sizeof address.sun_path)
    throw Error(ErrorCode::kUsage, "rendezvous name '" + name + "' is empty or too long",
                "allowed: 1 to 107 characters");
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // leading zero: abstract
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

Fd newSocket() {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw Error(ErrorCode::kSystem, "socket: " + reason(errno), "raise `ulimit -n`");
  return fd;
}

/// Waits until the socket is ready; false at the deadline.
bool ready(int fd, short events, int64_t deadlineNs) {
  for (;;) {
    const int64_t leftMs = (deadlineNs - nowNs() + 999'999) / 1'000'000;
    if (leftMs <= 0) return false;
    pollfd p{fd, events, 0};
    const int n = ::poll(&p, 1, static_cast<int>(std::min<int64_t>(leftMs, 1000)));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
  }
}

}  // namespace

Fd listenOn(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = fill(address, name);
  Fd fd = newSocket();
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0)
    throw Error(ErrorCode::kSystem, "rendezvous '" + name + "': " + reason(errno),
                errno == EADDRINUSE
                    ? "two ranks 0 use one unique id: make a new id for each communicator"
                    : "see unix(7)");
  if (::listen(fd.get(), 512) != 0)
    throw Error(ErrorCode::kSystem, "rendezvous '" + name + "': listen: " + reason(errno));
  return fd;
}

Fd connectTo(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = fill(address, name);
  Fd fd = newSocket();
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) == 0) return fd;
  if (errno == ECONNREFUSED || errno == ENOENT || errno == EAGAIN || errno == EINTR) return Fd();
  throw Error(ErrorCode::kSystem, "rendezvous '" + name + "': connect: " + reason(errno));
}

Fd acceptFrom(const Fd& listener, int64_t deadlineNs) {
  while (ready(listener.get(), POLLIN, deadlineNs)) {
    Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd && sameUser(fd)) return fd;
    if (!fd && (errno == EMFILE || errno == ENFILE))
      throw Error(ErrorCode::kSystem, "accept: " + reason(errno), "raise `ulimit -n`");
  }
  return Fd();
}

bool sameUser(const Fd& socket) noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

bool sendAll(const Fd& socket, const void* data, size_t bytes, int fd, int64_t deadlineNs) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    iovec part{const_cast<char*>(at), bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fd >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    const ssize_t n = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL);
    if (n > 0) {
      at += n;
      bytes -= static_cast<size_t>(n);
      fd = -1;  // it went with the first byte
    } else if (errno != EINTR && (errno != EAGAIN || !ready(socket.get(), POLLOUT, deadlineNs))) {
      return false;
    }
  }
  return true;
}

bool receiveAll(const Fd& socket, void* data, size_t bytes, Fd* fd, int64_t deadlineNs) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    iovec part{at, bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
    if (n == 0) return false;
    if (n < 0) {
      if (errno == EINTR || (errno == EAGAIN && ready(socket.get(), POLLIN, deadlineNs))) continue;
      return false;
    }
    for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
      if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
      int received = -1;
      std::memcpy(&received, CMSG_DATA(h), sizeof received);
      Fd owned(received);
      if (fd != nullptr) *fd = std::move(owned);
    }
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace autoccl
