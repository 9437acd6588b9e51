// TCP links that carry, beside the agreement's messages, what the ranks measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agree/tcp_links.h"
#include "edge/session/sample_board.h"

namespace autoccl {

/// What it does. Every rank has a board of its own in private memory. A worker's samples travel to
/// the leader, who puts them on its own board, where the Leader finds them as if the memory were
/// shared; the skip mask, settled and ready travel back, first on every new connection.
/// Rate. One frame of at most kMaxSamples samples per pump, and only on a link with nothing queued,
/// so that the agreement's frames never stand behind more than one frame of samples. What the
/// link cannot take waits in the rank's ring; what the ring cannot hold is dropped and counted, and
/// so is what a connection loses: each frame says how many samples came before it.
/// Threads. The agent thread. Errors: as TcpLinks.
class SampleLinks final : public LinkSet {
 public:
  SampleLinks(const TcpLinks::Options& options, SampleBoard& board);

  /// As TcpLinks, less the messages above.
  void poll(int64_t nowNs, std::vector<LinkEvent>& events) override;
  bool send(int to, const Message& message) override { return links_.send(to, message); }
  [[nodiscard]] std::vector<std::string> hosts() const { return links_.hosts(); }
  /// Sends what is due: samples on a worker, the notice on the leader.
  void pump();

 private:
  [[nodiscard]] bool consume(const LinkEvent& event);
  void takeSamples(int rank, const Samples& samples);
  void sendSamples();
  void sendNotice(int to);
  [[nodiscard]] bool leads() const { return rank_ == 0; }

  TcpLinks links_;
  SampleBoard& board_;
  int rank_;
  int nRanks_;
  uint64_t taken_ = 0;                          // off this worker's ring
  std::vector<uint64_t> received_;              // leader: from each rank
  std::vector<std::optional<Notice>> noticed_;  // leader: what each rank was told last
};

}  // namespace autoccl
