// From what is known of a communicator to a session in which its ranks agree.
#pragma once

#include "agree/tcp_links.h"
#include "edge/nccl/comm_context.h"

namespace autoccl {
class TuningSession;
}

namespace autoccl::nccl {

/// Whether this process is to be tuned: AUTOCCL_DISABLE is not 1 and AUTOCCL_TUNE is not 0. Naming
/// the library to NCCL, or preloading it, is the wish; these switch it off again.
[[nodiscard]] bool tuningWanted() noexcept;

/// What bounds the search on a communicator, but for what has been seen of its calls.
[[nodiscard]] SpaceRules rulesOf(const Origin& origin);

struct Opened {
  TuningSession* session = nullptr;  // the caller's
  const char* why = "";              // static text, where there is none
};

/// Ranks find each other by the unique id where the interposer has seen it, else by the
/// communicator's id at AUTOCCL_COORDINATOR; inside one node over the loopback. Sets the context's
/// gate. Waits for nobody; what the world refuses is one line in the log.
[[nodiscard]] Opened openSession(const Origin& origin, CommContext& context) noexcept;

/// Links of their own for the steps in which the ranks make a communicator's variants; nothing
/// where its ranks have nowhere to meet, or calls of it stay untouched anyway.
[[nodiscard]] std::optional<TcpLinks::Options> linksForVariants(const Origin& origin);

}  // namespace autoccl::nccl
