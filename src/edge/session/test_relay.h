// For tests: a wire that can be cut while both of its ends live.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "agree/tcp_connection.h"

namespace autoccl {

/// Listens on a port of its own and passes bytes to and from one port of this host, from a thread
/// of its own. While it is cut it holds no connection and accepts none for longer than a moment.
class Relay {
 public:
  explicit Relay(uint16_t target) : target_(target) {
    std::string fault;
    listener_ = listenOn({htonl(INADDR_LOOPBACK), 0}, fault);
    if (listener_ < 0) throw std::runtime_error(fault);
    thread_ = std::thread([this] { serve(); });
  }
  ~Relay() {
    over_ = true;
    thread_.join();
    close(listener_);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] uint16_t port() const { return localAddress(listener_).port; }
  void cut(bool cut) { cut_ = cut; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  struct Pair {
    int a = -1, b = -1;
    bool over = false;
    ~Pair() {
      for (const int fd : {a, b})
        if (fd >= 0) close(fd);
    }
  };

  static void block(int fd) {
    const timeval wait{1, 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
  }
  void accept() {
    const int from = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (from < 0) return;
    Pair& pair = pairs_.emplace_back();
    pair.a = from;
    pair.b = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(target_);
    pair.over = connect(pair.b, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0;
    block(pair.a);
    block(pair.b);
  }
  void pass(int from, int to, bool& over) {
    uint8_t chunk[16384];
    const ssize_t n = recv(from, chunk, sizeof(chunk), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    over = n <= 0 || ::send(to, chunk, static_cast<size_t>(n), MSG_NOSIGNAL) != n;
    if (!over) bytes_ += static_cast<uint64_t>(n);
  }
  void serve() {
    while (!over_) {
      std::vector<pollfd> fds{{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_)
        for (const int fd : {pair.a, pair.b}) fds.push_back({fd, POLLIN, 0});
      (void)::poll(fds.data(), fds.size(), 2);
      accept();
      for (Pair& pair : pairs_) {
        if (!pair.over) pass(pair.a, pair.b, pair.over);
        if (!pair.over) pass(pair.b, pair.a, pair.over);
      }
      pairs_.remove_if([this](const Pair& pair) { return pair.over || cut_; });
    }
  }

  uint16_t target_;
  int listener_ = -1;
  std::atomic<bool> cut_{false}, over_{false};
  std::atomic<uint64_t> bytes_{0};
  std::list<Pair> pairs_;
  std::thread thread_;
};

}  // namespace autoccl
