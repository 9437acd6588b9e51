// Unix sockets with names in the abstract namespace: they vanish with their process, so nothing is
// left behind by a kill, and a descriptor can travel through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/fd.h"

namespace autoccl {

/// Listens on the abstract name. Throws Error when the name is taken.
[[nodiscard]] Fd listenOn(const std::string& name);

/// Connects, or returns an empty Fd if nobody listens (yet). Throws Error for anything else.
[[nodiscard]] Fd connectTo(const std::string& name);

/// The next connection of a process of the same user, or an empty Fd at `deadlineNs` (nowNs()).
/// Connections of other users are closed at once: they learn and change nothing.
[[nodiscard]] Fd acceptFrom(const Fd& listener, int64_t deadlineNs);

/// True if the process at the other end belongs to this user (or is root).
[[nodiscard]] bool sameUser(const Fd& socket) noexcept;

/// Sends or receives exactly `bytes`, with at most one descriptor beside them. False at the
/// deadline, at end of file and on any error. `fd` may be null / -1.
[[nodiscard]] bool sendAll(const Fd& socket, const void* data, size_t bytes, int fd,
                           int64_t deadlineNs);
[[nodiscard]] bool receiveAll(const Fd& socket, void* data, size_t bytes, Fd* fd,
                              int64_t deadlineNs);

}  // namespace autoccl
