// A place where rank 0 may listen.
#pragma once

#include <cstdint>
#include <string>

namespace autoccl {

/// An IPv4 address as text, and a port.
struct TcpEndpoint {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0, on rank 0: any free one, see TcpLinks::port()
  friend bool operator==(const TcpEndpoint&, const TcpEndpoint&) = default;
};

}  // namespace autoccl
