// Where and under which key the ranks of one communicator meet, from what they all know.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agree/endpoint.h"
#include "base/siphash.h"

namespace autoccl {

/// All of it is a pure function of the bytes it is derived from: ranks that hold the same bytes
/// meet, and nobody is asked. Every part is SipHash-2-4-128 of its name under a key condensed from
/// the bytes, so that the ports, which anybody may see, tell nothing of the key.
struct Rendezvous {
  static constexpr size_t kPorts = 8;
  MacKey key{};
  uint64_t session = 0;                  // never 0
  std::array<uint16_t, kPorts> ports{};  // different ones, in the order to try
  friend bool operator==(const Rendezvous&, const Rendezvous&) = default;
};

/// From bytes that all ranks of a communicator hold and nobody else does (a unique id). Ports from
/// 20000 to 32767: below those that the kernel hands out.
[[nodiscard]] Rendezvous deriveRendezvous(std::span<const std::byte> id);

/// Of the communicator that the parent's `nthSplit`-th split (from 0, as each of its ranks counts)
/// made with this colour.
[[nodiscard]] Rendezvous splitRendezvous(const Rendezvous& parent, uint64_t nthSplit,
                                         int64_t colour);

/// The job's meeting point where no secret bytes are known: AUTOCCL_COORDINATOR and
/// AUTOCCL_KEY_FILE.
struct Coordinator {
  static constexpr uint16_t kPortSpan = 64;  // ports from `port` on that its communicators use
  std::string address;                       // IPv4
  uint16_t port = 0;
  MacKey key{};
};

/// Nothing where neither is set. Throws Error: one without the other, no "host:port", a host with
/// no IPv4 address, a key file that others may read. Asks the resolver for a host's name; set-up
/// only.
[[nodiscard]] std::optional<Coordinator> readCoordinator();

/// Of the communicator that `name` (not secret, equal on its ranks, different for every
/// communicator of the job) stands for.
[[nodiscard]] Rendezvous deriveRendezvous(const Coordinator& coordinator,
                                          std::span<const std::byte> name);

/// Hosts of the ranks that sessions of this process have met over TCP, for a communicator whose
/// rank 0 may be on any of them (a split's). At most kMostHosts, the first met first. Thread-safe.
inline constexpr size_t kMostHosts = 256;
[[nodiscard]] std::vector<std::string> knownHosts();
void noteHosts(std::span<const std::string> hosts);

/// Every port at every address, the addresses' order first: for TcpLinks::Options::candidates.
[[nodiscard]] std::vector<TcpEndpoint> candidatesAt(std::span<const std::string> addresses,
                                                    const Rendezvous& rendezvous);

}  // namespace autoccl
