#include "tests/nccl_double/bootstrap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "tests/nccl_double/environment.h"
#include "tests/nccl_double/log.h"
#include "transport/fd.h"

namespace autoccl::nccl_double {
namespace {

/// What lies in a unique id.
struct Handle {
  uint64_t magic = 0;
  sockaddr_in address{};
};
static_assert(sizeof(Handle) <= NCCL_UNIQUE_ID_BYTES);

constexpr int kPollMs = 50;
constexpr int kListenBacklog = 256;

struct Greeting {
  uint64_t magic = 0;
  PeerInfo info;
};

bool ready(const Fd& socket, short events, const volatile bool* abort) {
  for (;;) {
    pollfd p{socket.get(), events, 0};
    const int n = poll(&p, 1, kPollMs);
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
    if (abort != nullptr && *abort) return false;
  }
}

bool sendBytes(const Fd& socket, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = send(socket.get(), at, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool receiveBytes(const Fd& socket, void* data, size_t size, const volatile bool* abort) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    if (!ready(socket, POLLIN, abort)) return false;
    const ssize_t n = recv(socket.get(), at, size, 0);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

/// The root's part: hears of every rank, then tells all. A stranger's connection is dropped.
void serve(const Fd& listener, uint64_t magic) {
  std::vector<Fd> sockets;
  std::vector<PeerInfo> peers;
  size_t known = 0;
  do {
    Fd socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) return;
    Greeting hello;
    if (!receiveBytes(socket, &hello, sizeof hello, nullptr) || hello.magic != magic) continue;
    const auto rank = static_cast<size_t>(hello.info.rank);
    if (peers.empty()) {
      peers.resize(static_cast<size_t>(hello.info.nRanks));
      sockets.resize(peers.size());
    }
    if (static_cast<size_t>(hello.info.nRanks) != peers.size() || rank >= peers.size() ||
        sockets[rank])
      return;  // all sockets close: every rank learns that the start failed
    peers[rank] = hello.info;
    sockets[rank] = std::move(socket);
    ++known;
  } while (known < peers.size() || known == 0);
  for (const Fd& socket : sockets)
    (void)sendBytes(socket, peers.data(), peers.size() * sizeof(PeerInfo));
}

std::string hostText() {
  if (const char* id = variable("NCCL_HOSTID")) return id;
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return name + boot;
}

}  // namespace

uint64_t hashOf(const void* bytes, size_t size, uint64_t seed) {
  uint64_t hash = 14695981039346656037U ^ seed;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211U;
  return hash;
}

uint64_t hostHash() {
  static const uint64_t hash = [] {
    const std::string text = hostText();
    return hashOf(text.data(), text.size());
  }();
  return hash;
}

bool makeUniqueId(ncclUniqueId& id) {
  Handle handle;
  if (getrandom(&handle.magic, sizeof handle.magic, 0) != sizeof handle.magic) return false;
  auto listener = std::make_shared<Fd>(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  handle.address.sin_family = AF_INET;
  handle.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof handle.address;
  auto* address = reinterpret_cast<sockaddr*>(&handle.address);
  if (!*listener || bind(listener->get(), address, length) != 0 ||
      listen(listener->get(), kListenBacklog) != 0 ||
      getsockname(listener->get(), address, &length) != 0)
    return false;
  std::thread([listener, magic = handle.magic] { serve(*listener, magic); }).detach();
  std::memset(id.internal, 0, sizeof id.internal);
  std::memcpy(id.internal, &handle, sizeof handle);
  return true;
}

bool exchange(const ncclUniqueId& id, const PeerInfo& mine, std::vector<PeerInfo>& peers,
              const volatile bool* abort) {
  Handle handle;
  std::memcpy(&handle, id.internal, sizeof handle);
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || connect(socket.get(), reinterpret_cast<const sockaddr*>(&handle.address),
                         sizeof handle.address) != 0) {
    warn("bootstrap: nobody listens under this unique id");
    return false;
  }
  const Greeting hello{handle.magic, mine};
  peers.resize(static_cast<size_t>(mine.nRanks));
  return sendBytes(socket, &hello, sizeof hello) &&
         receiveBytes(socket, peers.data(), peers.size() * sizeof(PeerInfo), abort);
}

}  // namespace autoccl::nccl_double
