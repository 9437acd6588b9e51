#include "edge/cpu/session_attach.h"

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/settings.h"
#include "edge/session/rendezvous.h"
#include "engine/communicator.h"

namespace autoccl {
namespace {

/// Ranks of one host share memory; tcp goes the way that ranks of several hosts go.
std::variant<TuningSession::SharedMemory, TuningSession::Tcp> linkOf(const Communicator& c) {
  if (settingText("AUTOCCL_AGREEMENT_LINKS") != "tcp")
    return TuningSession::SharedMemory{c.sharedArea()};
  std::array<std::byte, 16 + sizeof(uint64_t)> id{};
  const uint64_t session = c.session();
  std::memcpy(id.data(), c.key().data(), c.key().size());
  std::memcpy(id.data() + c.key().size(), &session, sizeof(session));
  const std::string host[] = {"127.0.0.1"};
  return TuningSession::Tcp{candidatesAt(host, deriveRendezvous(id))};
}

}  // namespace

std::unique_ptr<TuningSession> attachTuning(Communicator& communicator) noexcept {
  try {
    if (communicator.size() < 2 || !settingSwitch("AUTOCCL_TUNE")) return nullptr;
    TuningSession::Seat seat;
    seat.rank = communicator.rank();
    seat.nRanks = communicator.size();
    seat.name = communicator.name();
    seat.sessionId = communicator.session();
    seat.key = communicator.key();
    seat.library = "the CPU engine";
    seat.capabilities = std::to_string(communicator.digest());
    seat.link = linkOf(communicator);
    seat.setGate = [&communicator](CallGate* gate) { communicator.setGate(gate); };
    seat.spaceFor = [&communicator](const Task& task) { return communicator.spaceFor(task); };
    return TuningSession::open(std::move(seat));
  } catch (const std::exception& error) {
    logLine(LogLevel::kWarn, "no tuning on " + communicator.name() + ": " + error.what());
    return nullptr;
  }
}

}  // namespace autoccl
