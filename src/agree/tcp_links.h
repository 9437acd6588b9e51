// Links of ranks on several hosts: one TCP connection from each worker to rank 0, and from a rank
// in doubt to any other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agree/endpoint.h"
#include "agree/frame.h"
#include "agree/link.h"

namespace autoccl {

/// A worker opens the connection to rank 0, and opens it again whenever it is lost. Rank 0 listens
/// on the first of the candidates that it can bind; a worker calls them in turn until one of them
/// shows the key, and stays with that one. Rank 0 tells each worker where the others listen;
/// workers connect to each other only when they have something to say.
///
/// A connection begins with HELLO (who, and a nonce) and WELCOME (a nonce), sealed with the shared
/// key; from then on each direction has its own key made of that key and both nonces, so frames of
/// an earlier connection are worth nothing. Rank 0 takes the new connection for the rank's link
/// only when the first frame under the new key has come: replaying HELLO changes nothing. Whoever
/// sends anything else is cut off unanswered; strangers may hold at most a few sockets, briefly.
/// The destructor says so to its peers: leaving is not dying.
///
/// All sockets are non-blocking; poll() makes a handful of system calls. Errors: throws Error where
/// no candidate can be bound or one is no address; a socket that the kernel refuses later is tried
/// again.
class TcpLinks final : public LinkSet {
 public:
  struct Options {
    int rank = 0;
    int nRanks = 1;
    uint64_t session = 0;
    MacKey key{};
    std::vector<TcpEndpoint> candidates{TcpEndpoint{}};  // alike on all ranks, in order
  };
  explicit TcpLinks(const Options& options);
  ~TcpLinks() override;

  void poll(int64_t nowNs, std::vector<LinkEvent>& events) override;
  bool send(int to, const Message& message) override;
  /// A link to this rank stands and nothing waits to be sent on it.
  [[nodiscard]] bool idle(int to) const;
  /// The hosts of the ranks that are known here, rank 0's first, and this rank's own; each once.
  [[nodiscard]] std::vector<std::string> hosts() const;
  /// Where this rank listens.
  [[nodiscard]] uint16_t port() const;

  /// Fault injection for tests: connections with this peer are closed and none is opened while
  /// `cut`.
  void cut(int peer, bool cut);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace autoccl
