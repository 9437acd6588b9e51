// Steps that the ranks of a communicator take together before anything is tuned, over links of our
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "agree/tcp_links.h"

namespace autoccl {

/// What it does. In a step every rank gives bytes to rank 0, which makes one answer of them all;
/// every rank returns with that answer. Ranks take the same steps in the same order.
/// Threads. One: the caller's, which waits in step(). Cost: two messages a rank and step.
/// Errors. Nothing where a rank has left, the answer is not there by the deadline, or it is
/// cancelled: then no step
/// of this exchange will come to pass, here or elsewhere. Throws Error as TcpLinks does.
class Exchange {
 public:
  using Bytes = std::vector<uint8_t>;
  using Answer = std::function<Bytes(const std::vector<Bytes>& ofRanks)>;

  /// deadlineNs: of all steps together, by nowNs(). `cancelled` is asked while this rank waits.
  Exchange(const TcpLinks::Options& options, int64_t deadlineNs,
           std::function<bool()> cancelled = {});
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// At most kMaxParcel bytes each way. `answer` runs on rank 0.
  [[nodiscard]] std::optional<Bytes> step(const Bytes& mine, const Answer& answer);
  /// A step whose answer is whether all ranks say true. `mine` is asked until it says something;
  /// the first false of any rank is the answer for all, whoever has not answered yet.
  [[nodiscard]] std::optional<bool> all(const std::function<std::optional<bool>()>& mine);

 private:
  void begin();
  void give(const Bytes& mine);
  /// Rank 0: the answer of the step, to all.
  void conclude(const Bytes& answer);
  void pump();
  void send(int to);
  [[nodiscard]] bool collected() const;
  [[nodiscard]] bool anyFalse() const;
  /// False where the step has failed.
  [[nodiscard]] bool wait();

  TcpLinks links_;
  const int rank_;
  const int nRanks_;
  const int64_t deadlineNs_;
  const std::function<bool()> cancelled_;
  uint32_t step_ = 0;
  std::optional<Bytes> mine_;
  std::vector<std::optional<Bytes>> ofRanks_;  // rank 0: this step's
  std::vector<std::optional<Bytes>> next_;     // and of ranks that are a step ahead
  std::optional<Bytes> answer_;                // rank 0: this step's, or the last one's
  std::vector<LinkEvent> events_;
  bool left_ = false;
};

}  // namespace autoccl
