// The protocol without wires and without a clock: messages in, messages out.
//
// One version changes tables on all ranks or on none. The leader sends PREPARE; each rank fences
// the calls concerned, then reads its counters and answers ACK; COMMIT follows only if every
// counter stood at or below its fence, every sequence hash agrees and nobody vetoes, else ABORT. A
// rank that has voted yes and knows no verdict is in doubt: its calls at the fence wait, and it
// never decides alone. The next version starts only when every rank has said SETTLED.
//
// Who may end a doubt. With a verdict word (one host): anybody, by moving the word from PREPARED to
// ABORT; the leader moves it to COMMIT the same way, so there is one verdict. Without (several
// hosts): a member that knows the verdict, or one that has not voted and now promises never to.
//
// Every message may be repeated and any may be lost with its link: what matters is sent again by
// linkUp() and remind(). model_test.cc explores all interleavings for three ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agree/local_calls.h"
#include "agree/message.h"

namespace autoccl {

/// The one verdict of a host: IDLE, PREPARED(v), COMMIT(v) or ABORT(v). In shared memory (ShmLinks)
/// or a model.
class VerdictWord {
 public:
  virtual ~VerdictWord() = default;
  /// Leader only, when every rank has settled the version before: PREPARED(version).
  virtual void open(uint64_t version) = 0;
  /// Moves PREPARED(version) to the verdict given, if nobody was faster. Returns the verdict in
  /// force.
  virtual bool settle(uint64_t version, bool commit) = 0;
  /// The verdict on `version`, or nothing while it is PREPARED.
  [[nodiscard]] virtual std::optional<bool> verdict(uint64_t version) const = 0;
};

struct Outgoing {
  int to = 0;
  Message message;
};

/// What a core works with during one call.
struct Hands {
  LocalCalls& calls;
  VerdictWord* word;  // null between hosts
  std::vector<Outgoing>& out;
};

/// Fences of `prepare` against the counters of `ack`: the vote that both sides compute alike.
[[nodiscard]] bool votesYes(const Prepare& prepare, const Ack& ack);

/// Rank 0. Thread-compatible, as MemberCore is.
class LeaderCore {
 public:
  struct Outstanding {
    Prepare prepare;
    std::vector<uint64_t> base;            // the leader's counters when it chose the fences
    std::vector<std::optional<Ack>> acks;  // by rank; [0] is the leader's own
    std::vector<bool> settled;             // by rank
    std::optional<bool> verdict;
    bool waited = false;
  };
  struct State {
    std::vector<std::optional<MemberDigest>> digests;  // by rank
    bool joined = false;
    bool frozen = false;
    bool ending = false;  // a rank has left
    std::optional<std::string> off;
    uint64_t lastVersion = 0;
    std::optional<Outstanding> outstanding;
    std::map<uint64_t, uint64_t> horizon;   // calls ahead, by task
    std::map<uint64_t, uint64_t> lastFrom;  // newest committed entry, by task
  };

  LeaderCore(int nRanks, const MemberDigest& own, uint64_t minHorizon);

  /// False while joining, off, frozen, ending or with a version outstanding. A proposal that is
  /// none (no entries, offsets not ascending from 0, too large) has its outcome at once.
  bool propose(const Proposal& proposal, Hands hands);
  void receive(int from, const Message& message, Hands hands);
  void linkUp(int rank, Hands hands);
  /// The rank has ended its part in good order: nothing more is agreed, and nothing is wrong.
  void left(Hands hands);
  /// The rank is known to be dead: no further version can be agreed.
  void died(int rank, Hands hands);
  /// Frames did not come in time: ABORT, unless the verdict stands.
  void deadline(Hands hands);
  /// Looks at the verdict word: a member may have aborted.
  void poll(Hands hands);
  /// Sends again what was not answered.
  void remind(Hands hands);
  void turnOff(const std::string& reason, Hands hands);

  [[nodiscard]] std::optional<Outcome> takeOutcome();
  [[nodiscard]] const State& state() const { return state_; }
  /// Ranks that have not answered the outstanding version, as text: "rank 2, rank 3".
  [[nodiscard]] std::string missing() const;
  /// Ranks that have not joined, likewise.
  [[nodiscard]] std::string absent() const;

 private:
  void join(int from, const Join& join, Hands hands);
  void acknowledge(int from, const Ack& ack, Hands hands);
  void settledBy(int from, const Settled& settled, Hands hands);
  void tally(Hands hands);
  void decide(bool commit, std::string reason, Hands hands);
  void adapt(const Outstanding& o);
  void resend(int rank, Hands hands) const;
  [[nodiscard]] Prepare place(const Proposal& proposal, std::vector<uint64_t>& base, Hands hands);
  [[nodiscard]] std::string objection(const Outstanding& o) const;
  void rememberHashes(int rank, const std::vector<SequenceHash>& hashes);
  [[nodiscard]] uint64_t& horizonOf(uint64_t taskKey);

  const int nRanks_;
  const uint64_t minHorizon_;
  State state_;
  std::optional<Outcome> outcome_;
  struct KnownHash {
    uint64_t hash = 0;
    int rank = 0;
  };
  std::map<uint64_t, KnownHash> hashes_;  // by calls; the newest kHashMemory
  std::string hashFault_;
};

/// Any other rank.
class MemberCore {
 public:
  struct State {
    bool joined = false;
    bool frozen = false;
    std::optional<std::string> off;
    std::optional<Prepare> pending;  // voted yes, verdict unknown: in doubt
    Ack lastAck;
    Settled last;           // newest settled version; version 0: none yet
    uint64_t promised = 0;  // never votes yes on this version or one before
  };

  MemberCore(int rank, int nRanks, const MemberDigest& own);

  void receive(int from, const Message& message, Hands hands);
  void linkUp(int rank, Hands hands);
  /// Settles by the verdict word, if a verdict stands in it.
  void poll(Hands hands);
  /// In doubt for long, or the leader is dead: asks who may know (or settles the word).
  void doubt(Hands hands);
  void remind(Hands hands);

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] bool inDoubt() const { return state_.pending.has_value(); }

 private:
  void prepare(const Prepare& prepare, Hands hands);
  void settle(uint64_t version, bool commit, Hands hands);
  void refuse(const Prepare& prepare, Ack ack, Hands hands);
  void answer(int asker, uint64_t version, Hands hands);

  const int rank_;
  const int nRanks_;
  const MemberDigest digest_;
  State state_;
};

}  // namespace autoccl
