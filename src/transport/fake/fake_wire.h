// A wire between simulated ranks in one thread: queues that count. For tests and for the tables of
// docs/plans.md; no memory is shared, no time passes, and the order is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace autoccl {

/// A message of 64-bit words and its depth: one more than its sender had seen when it was sent.
struct FakeMessage {
  std::vector<uint64_t> words;
  int depth = 0;
};

/// Bounded FIFO queues, one per ordered pair of ranks and rail, with a tally per rank.
/// Deterministic. Not thread-safe. A full queue refuses; an empty one has nothing: the caller
/// decides who tries again, and sees a deadlock when nobody can.
class FakeWire {
 public:
  struct Tally {
    uint64_t sentWords = 0;
    uint64_t receivedWords = 0;
    uint64_t sentMessages = 0;
    uint64_t receivedMessages = 0;
    int depth = 0;  // of the deepest message received
  };

  FakeWire(int nRanks, int rails, size_t capacity);

  [[nodiscard]] bool canSend(int from, int to, int rail) const;
  [[nodiscard]] bool canReceive(int to, int from, int rail) const;
  /// Needs canSend. The message's depth is the sender's, in `message.depth`, plus one on arrival.
  void send(int from, int to, int rail, FakeMessage message);
  /// Needs canReceive.
  FakeMessage receive(int to, int from, int rail);

  [[nodiscard]] const Tally& tally(int rank) const { return tallies_[static_cast<size_t>(rank)]; }
  /// True if every message was received.
  [[nodiscard]] bool empty() const;

 private:
  [[nodiscard]] size_t queue(int from, int to, int rail) const;

  size_t nRanks_;
  size_t rails_;
  size_t capacity_;
  std::vector<std::deque<FakeMessage>> queues_;
  std::vector<Tally> tallies_;
};

}  // namespace autoccl
