// The gate a session installs on its communicator.
#pragma once

#include "agree/agreement.h"
#include "edge/cpu/exposure.h"
#include "edge/cpu/sample_board.h"
#include "model/gate.h"

namespace autoccl {

/// Config of each call from the agreed table; stamps of each call onto the board.
/// Tasks carry no communicator: the table is this communicator's own, and so a task's key is the
/// same in the next run (journal, profile).
/// HOT: every function, as CallGate says. report is called by one thread at a time.
class SessionGate final : public CallGate {
 public:
  SessionGate(Agreement& agreement, SampleBoard& board, int rank) noexcept
      : agreement_(agreement), board_(board), mine_(board.of(rank)) {
    Exposure::open();
  }
  ~SessionGate() override { Exposure::close(); }

  Ticket take(const Task& task, const Config& fallback) noexcept override {
    return agreement_.take(task, fallback);
  }
  bool resolve(Ticket ticket, Config& config) noexcept override {
    return agreement_.resolve(ticket, config);
  }
  void report(const CallRecord& record) noexcept override;

 private:
  Agreement& agreement_;
  SampleBoard& board_;
  RankBoard& mine_;
  int64_t exposedBefore_ = Exposure::totalNs();
};

}  // namespace autoccl
