#include "edge/cpu/session_attach.h"

#include <string>
#include <utility>

#include "base/log.h"
#include "base/settings.h"
#include "engine/communicator.h"

namespace autoccl {

std::unique_ptr<TuningSession> attachTuning(Communicator& communicator) noexcept {
  try {
    if (communicator.size() < 2 || !settingSwitch("AUTOCCL_TUNE")) return nullptr;
    TuningSession::Seat seat;
    seat.rank = communicator.rank();
    seat.nRanks = communicator.size();
    seat.name = communicator.name();
    seat.sessionId = communicator.session();
    seat.key = communicator.key();
    seat.capabilities = std::to_string(communicator.digest());
    seat.area = communicator.sharedArea();
    seat.setGate = [&communicator](CallGate* gate) { communicator.setGate(gate); };
    seat.spaceFor = [&communicator](const Task& task) { return communicator.spaceFor(task); };
    return TuningSession::open(std::move(seat));
  } catch (const std::exception& error) {
    logLine(LogLevel::kWarn, "no tuning on " + communicator.name() + ": " + error.what());
    return nullptr;
  }
}

}  // namespace autoccl
