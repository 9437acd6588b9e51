// Links of ranks that share memory: a byte ring each way between rank 0 and every other rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "agree/frame.h"
#include "agree/link.h"

namespace autoccl {

/// Works in an area that the caller shares between the ranks (processes or threads) and that was
/// all zero before the first rank came. Layout: verdict word, one seat per rank (its process id),
/// rings. The verdict word makes links between workers needless: a rank in doubt settles the word.
/// A peer in another process is watched by a pidfd; in another pid namespace its death goes
/// unnoticed here and time-outs end the waits. The destructor gives the seat up, so that leaving is
/// not dying. Errors: throws Error for an area too small or a rank out of range.
class ShmLinks final : public LinkSet {
 public:
  [[nodiscard]] static size_t requiredBytes(int nRanks);

  /// `area` must be aligned to 64 bytes and outlive this.
  ShmLinks(void* area, size_t bytes, int rank, int nRanks, uint64_t session, const MacKey& key);
  ~ShmLinks() override;

  void poll(int64_t nowNs, std::vector<LinkEvent>& events) override;
  bool send(int to, const Message& message) override;
  [[nodiscard]] VerdictWord* word() override;

  /// Fault injection for tests: the ring to and from this peer stands still while `cut`.
  void cut(int peer, bool cut);

 private:
  struct Area;
  struct Peer;
  class Word;
  [[nodiscard]] Peer* peerOf(int rank);
  void watch(Peer& peer, int64_t nowNs, std::vector<LinkEvent>& events);
  static void flush(Peer& peer);
  static void receive(Peer& peer, std::vector<LinkEvent>& events);

  std::unique_ptr<Area> area_;
  std::unique_ptr<Word> word_;
  std::vector<std::unique_ptr<Peer>> peers_;  // rank 0: all workers; a worker: rank 0
  int rank_;
};

}  // namespace autoccl
