// One TCP socket between two members, from the first byte to the last, and the few socket calls
// around it. Used by tcp_links.cc alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agree/frame.h"

namespace autoccl {

/// An IPv4 address and port. An address of 0 is unknown.
struct TcpAddress {
  uint32_t host = 0;  // network order
  uint16_t port = 0;  // host order
  friend bool operator==(const TcpAddress&, const TcpAddress&) = default;
};

/// Nothing for a text that is no IPv4 address.
[[nodiscard]] std::optional<uint32_t> hostOf(const std::string& text);
[[nodiscard]] std::string hostText(uint32_t host);

/// A non-blocking socket; -1 with errno where the kernel refuses.
[[nodiscard]] int openSocket(int type);
/// A listening socket; -1, and why in `fault`, where the address cannot be bound.
[[nodiscard]] int listenOn(const TcpAddress& where, std::string& fault);
/// The address of this host's interface towards `remote`; loopback where there is none. Sends
/// nothing.
[[nodiscard]] uint32_t interfaceTowards(uint32_t remote);
[[nodiscard]] TcpAddress localAddress(int fd);
[[nodiscard]] TcpAddress remoteAddress(int fd);

/// The first frame of a connection.
struct Hello {
  uint32_t rank = 0, nRanks = 0;
  uint64_t nonce = 0;
  uint16_t port = 0;  // where the initiator listens
};
[[nodiscard]] std::vector<uint8_t> packHello(const Hello& hello);
[[nodiscard]] std::optional<Hello> readHello(std::span<const uint8_t> body);

/// Owns the socket and the frames of both directions. One thread.
class TcpConnection {
 public:
  enum class Stage { kConnecting, kAwaitHello, kAwaitWelcome, kAwaitConfirm, kOpen, kClosed };

  TcpConnection(int fd, Stage first, const MacKey& helloKey, uint64_t session, int64_t nowNs);
  ~TcpConnection() { shut(); }
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  /// Begins to connect. False: refused at once.
  [[nodiscard]] bool connectTo(const TcpAddress& where);
  /// Whether the connection begun stands, once its socket is writable.
  [[nodiscard]] bool connected() const;
  void shut();
  /// Says that nothing more will come and gives what was said the best chance to arrive.
  void endGently();
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool wantsWrite() const { return stage == Stage::kConnecting || !queue_.empty(); }
  [[nodiscard]] size_t queued() const { return queue_.size(); }

  bool say(uint8_t type, std::span<const uint8_t> body) {
    return writer.append(queue_, type, body);
  }
  /// Bytes in and out as far as they go now.
  void readAll();
  void writeAll();

  Stage stage;
  int64_t sinceNs;
  int peer = -1;           // known after HELLO
  bool ended = false;      // the other side closed it; what came before is still to be read
  bool initiated = false;  // by this rank
  uint64_t nonce = 0;      // the initiator's
  TcpAddress called{};     // by this rank, where it initiated
  TcpAddress listens{};    // where the initiator can be called, by its own word
  FrameReader reader;
  FrameWriter writer;

 private:
  int fd_;
  std::vector<uint8_t> queue_;
};

}  // namespace autoccl
