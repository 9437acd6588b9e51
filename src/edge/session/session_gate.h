// The gate a session installs on its communicator.
#pragma once

#include <atomic>
#include <cstdint>

#include "agree/agreement.h"
#include "base/clock.h"
#include "edge/session/exposure.h"
#include "edge/session/sample_board.h"
#include "model/gate.h"
#include "store/flight_recorder.h"

namespace autoccl {

/// Config of each call from the agreed table; stamps of each call onto the board.
/// Tasks carry no communicator: the table is this communicator's own, and so a task's key is the
/// same in the next run (journal, profile).
/// HOT: every function, as CallGate says. Two reports at once: the second is not waited for but
/// counted as lost.
class SessionGate final : public CallGate {
 public:
  SessionGate(Agreement& agreement, SampleBoard& board, FlightRecorder& recorder, int rank) noexcept
      : agreement_(agreement),
        board_(board),
        recorder_(recorder),
        mine_(board.of(rank)),
        leads_(rank == 0) {
    Exposure::open();
  }
  ~SessionGate() override { Exposure::close(); }

  Ticket take(const Task& task, const Config& fallback) noexcept override {
    return agreement_.take(task, fallback);
  }
  bool resolve(Ticket ticket, Config& config) noexcept override {
    TaskStage stage{};
    return resolve(ticket, config, stage);
  }
  bool resolve(Ticket ticket, Config& config, TaskStage& stage) noexcept override {
    const Config fallback = config;
    const bool go = agreement_.resolve(ticket, config, stage);
    if (config != fallback) recorder_.ran(config, ticket.index);
    return go;
  }
  void issued(uint64_t taskKey) noexcept override {
    if (leads_ && board_.settledTasks() == 0) board_.issued().push({taskKey, nowNs()});
  }
  void report(const CallRecord& record) noexcept override;

 private:
  void note(const CallRecord& record) noexcept;

  Agreement& agreement_;
  SampleBoard& board_;
  FlightRecorder& recorder_;
  RankBoard& mine_;
  const bool leads_;
  const int64_t exposedBefore_ = Exposure::totalNs();
  std::atomic_flag reporting_;
};

}  // namespace autoccl
