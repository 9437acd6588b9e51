#include "agree/tcp_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agree/bytes.h"

namespace autoccl {
namespace {

// A peer whose host or cable is gone is noticed after so long without an acknowledged byte.
constexpr unsigned kSilenceMs = 10000;
constexpr int kProbeS = 3;

sockaddr_in socketAddress(const TcpAddress& a) {
  sockaddr_in s{};
  s.sin_family = AF_INET;
  s.sin_addr.s_addr = a.host;
  s.sin_port = htons(a.port);
  return s;
}

template <class Value>
void setOption(int fd, int level, int name, Value value) {
  (void)setsockopt(fd, level, name, &value, sizeof(value));
}

void watchPeer(int fd) {
  setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, kProbeS);
  setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeS);
  setOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kSilenceMs);
}

}  // namespace

std::optional<uint32_t> hostOf(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return address.s_addr;
}

std::string hostText(uint32_t host) {
  char text[INET_ADDRSTRLEN] = "";
  (void)inet_ntop(AF_INET, &host, text, sizeof(text));
  return text;
}

int openSocket(int type) {
  return socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int listenOn(const TcpAddress& where, std::string& fault) {
  const int fd = openSocket(SOCK_STREAM);
  if (fd >= 0) {
    setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    const sockaddr_in a = socketAddress(where);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&a), sizeof(a)) == 0 && listen(fd, 128) == 0)
      return fd;
  }
  fault = std::strerror(errno);
  if (fd >= 0) close(fd);
  return -1;
}

uint32_t interfaceTowards(uint32_t remote) {
  const int fd = openSocket(SOCK_DGRAM);
  if (fd < 0) return htonl(INADDR_LOOPBACK);
  const sockaddr_in to = socketAddress({remote, 9});
  const bool found = connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
  const uint32_t own = found ? localAddress(fd).host : 0;
  close(fd);
  return own != 0 ? own : htonl(INADDR_LOOPBACK);
}

TcpAddress localAddress(int fd) {
  sockaddr_in a{};
  socklen_t size = sizeof(a);
  (void)getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size);
  return {a.sin_addr.s_addr, ntohs(a.sin_port)};
}

TcpAddress remoteAddress(int fd) {
  sockaddr_in a{};
  socklen_t size = sizeof(a);
  (void)getpeername(fd, reinterpret_cast<sockaddr*>(&a), &size);
  return {a.sin_addr.s_addr, ntohs(a.sin_port)};
}

std::vector<uint8_t> packHello(const Hello& hello) {
  std::vector<uint8_t> body;
  ByteWriter w(body);
  w.put(hello.rank);
  w.put(hello.nRanks);
  w.put(hello.nonce);
  w.put(hello.port);
  return body;
}

std::optional<Hello> readHello(std::span<const uint8_t> body) {
  ByteReader r(body);
  Hello hello;
  hello.rank = r.get<uint32_t>();
  hello.nRanks = r.get<uint32_t>();
  hello.nonce = r.get<uint64_t>();
  hello.port = r.get<uint16_t>();
  if (!r.complete()) return std::nullopt;
  return hello;
}

TcpConnection::TcpConnection(int fd, Stage first, const MacKey& helloKey, uint64_t session,
                             int64_t nowNs)
    : stage(first), sinceNs(nowNs), reader(helloKey, session), writer(helloKey, session), fd_(fd) {
  watchPeer(fd);
}

bool TcpConnection::connectTo(const TcpAddress& where) {
  const sockaddr_in to = socketAddress(where);
  return connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0 ||
         errno == EINPROGRESS;
}

bool TcpConnection::connected() const {
  int error = 0;
  socklen_t size = sizeof(error);
  return getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

void TcpConnection::shut() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  stage = Stage::kClosed;
}

// A socket closed with unread bytes is reset, and the reset may overtake what was said last.
void TcpConnection::endGently() {
  writeAll();
  if (fd_ < 0) return;
  (void)shutdown(fd_, SHUT_WR);
  uint8_t rest[4096];
  while (recv(fd_, rest, sizeof(rest), 0) > 0) {
  }
  shut();
}

void TcpConnection::readAll() {
  uint8_t chunk[16384];
  for (size_t got = 0; got < kMaxFrame;) {  // the rest waits for the next poll
    const ssize_t n = recv(fd_, chunk, sizeof(chunk), 0);
    if (n > 0) reader.feed({chunk, static_cast<size_t>(n)});
    got += sizeof(chunk);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) ended = true;
    if (n < static_cast<ssize_t>(sizeof(chunk))) return;
  }
}

void TcpConnection::writeAll() {
  if (queue_.empty() || stage == Stage::kClosed || stage == Stage::kConnecting) return;
  const ssize_t n = ::send(fd_, queue_.data(), queue_.size(), MSG_NOSIGNAL);
  if (n > 0) queue_.erase(queue_.begin(), queue_.begin() + n);
  if (n < 0 && errno != EAGAIN && errno != EINTR) ended = true;
}

}  // namespace autoccl
