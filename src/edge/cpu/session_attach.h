// The one place that knows both the engine's communicator and the tuning session.
#pragma once

#include <memory>

#include "edge/session/session.h"

namespace autoccl {

class Communicator;  // engine/communicator.h

/// Null when AUTOCCL_TUNE is off, the communicator has one rank, or a session cannot be opened (one
/// line in the log). The session must go before the communicator.
[[nodiscard]] std::unique_ptr<TuningSession> attachTuning(Communicator& communicator) noexcept;

}  // namespace autoccl
