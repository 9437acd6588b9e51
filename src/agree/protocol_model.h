// For tests: the world of the protocol's model: three ranks with the real cores, their programs and
// tables, the messages under way. protocol_model_test.cc walks through all that can happen in it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agree/core.h"

namespace autoccl::model {

inline constexpr int kRanks = 3;
inline constexpr int kTasks = 2;

/// Faults of ours that the walk must find.
enum class Mutant {
  kNone,
  kLostLinkKeepsOldTable,    // a rank in doubt whose link breaks takes ABORT for granted
  kAskerTakesDoubtForAbort,  // "I do not know" is read as "aborted"
  kAbortWithoutPromise,      // a member asked says ABORT and votes yes later
  kNoFence,                  // PREPARE is acknowledged without a fence
  kCounterNotRead,           // ACK says index 0 whatever the counter is
};

/// What may happen in one walk, and how often.
struct Scenario {
  std::string name;
  bool word = false;         // verdict word (one host) or messages only
  std::vector<int> program;  // the task of each call, the same on all ranks
  std::vector<Proposal> proposals;
  int cuts = 0;  // of the link 0-1, both ends alive
  int reopens = 0;
  int workerKills = 0;           // of rank 1
  int leaderKills = 0;           // any subset of what it has under way is lost with it
  int doubts1 = 0, doubts2 = 0;  // of ranks 1, 2: in doubt, they ask (or settle the word)
  int deadlines = 0;             // the leader's, for frames
  Mutant mutant = Mutant::kNone;
  bool splitCalls = false;  // taking an index and finding its config are two steps
};

struct Result {
  size_t states = 0;
  size_t steps = 0;
  size_t commits = 0;  // states in which some rank has just run a config that is not the default
  std::optional<std::string> violation;
  bool complete = false;  // false: the bound on states was reached
};

inline uint64_t taskKey(int task) {
  return static_cast<uint64_t>(task) + 1;
}

inline Config configOf(int id) {
  Config c;
  c.channels = static_cast<uint16_t>(id + 1);
  return c;
}

inline constexpr uint64_t kNoFence = UINT64_MAX;
inline constexpr size_t kMaxCalls = 8;

class Hash {
 public:
  void operator()(uint64_t word) {
    h_ = (h_ ^ word) * 0x9e3779b97f4a7c15ULL;
    h_ ^= h_ >> 29;
  }
  void operator()(const std::vector<TableEntry>& entries) {
    (*this)(entries.size());
    for (const auto& e : entries) {
      (*this)(e.fromCall);
      (*this)(e.config.channels);
    }
  }
  void operator()(const Prepare& p) {
    (*this)(p.version);
    (*this)(p.freeze);
    for (const auto& t : p.tasks) {
      (*this)(t.taskKey);
      (*this)(t.entries);
    }
  }
  void operator()(const Ack& a) {
    (*this)(a.version);
    (*this)(a.veto);
    for (const uint64_t i : a.nextIndex) (*this)(i);
  }
  void operator()(const Settled& s) { (*this)(s.version * 4 + s.commit * 2 + s.waited); }
  void operator()(const Verdict& v) { (*this)(v.version * 2 + v.commit); }
  void operator()(const Ask& a) { (*this)(a.version); }
  void operator()(const Tell& t) { (*this)(t.version * 4 + static_cast<uint64_t>(t.knowledge)); }
  void operator()(const Off&) { (*this)(uint64_t{9}); }
  void operator()(const Join&) {}
  void operator()(const Joined&) {}
  void operator()(const Samples&) {}  // beside the protocol, as the next two
  void operator()(const Notice&) {}
  void operator()(const Parcel&) {}
  [[nodiscard]] uint64_t value() const { return h_; }

 private:
  uint64_t h_ = 0x243f6a8885a308d3ULL;
};

template <class A>
auto& at(A& array, int i) {
  return array[static_cast<size_t>(i)];
}

/// One rank's program, counters, fences and tables.
class RankCalls final : public LocalCalls {
 public:
  Mutant mutant = Mutant::kNone;
  std::array<uint64_t, kTasks> counter{};
  std::array<uint64_t, kTasks> fence{kNoFence, kNoFence};
  std::array<std::vector<TableEntry>, kTasks> table;
  size_t position = 0;  // in the program
  bool inCall = false;  // index taken, config not yet known
  bool waited = false;
  bool alive = true;

  std::optional<std::string> install(const Prepare& p) override {
    waited = false;
    if (mutant == Mutant::kNoFence) return std::nullopt;
    for (const auto& t : p.tasks) fence[t.taskKey - 1] = t.fence();
    return std::nullopt;
  }
  [[nodiscard]] uint64_t nextIndex(uint64_t key) const override {
    return mutant == Mutant::kCounterNotRead ? 0 : counter[key - 1];
  }
  [[nodiscard]] std::vector<SequenceHash> hashes(size_t) const override { return {}; }
  void settle(const Prepare& p, bool commit) override {
    for (const auto& t : p.tasks) {
      fence[t.taskKey - 1] = kNoFence;
      if (!commit) continue;
      auto& entries = table[t.taskKey - 1];
      std::erase_if(entries, [&](const TableEntry& e) { return e.fromCall >= t.fence(); });
      entries.insert(entries.end(), t.entries.begin(), t.entries.end());
    }
  }
  [[nodiscard]] bool waitedSinceInstall() const override { return waited; }

  [[nodiscard]] Config configAt(int task, uint64_t index) const {
    Config c = configOf(0);
    for (const auto& e : table[static_cast<size_t>(task)])
      if (e.fromCall <= index) c = e.config;
    return c;
  }
  void hash(Hash& h) const {
    for (int t = 0; t < kTasks; ++t) {
      h(counter[static_cast<size_t>(t)]);
      h(fence[static_cast<size_t>(t)]);
      h(table[static_cast<size_t>(t)]);
    }
    h(position * 8 + inCall * 4 + waited * 2 + alive);
  }
};

class ModelWord final : public VerdictWord {
 public:
  uint64_t version = 0;
  int state = 0;  // 0 prepared, 1 commit, 2 abort
  void open(uint64_t v) override {
    version = v;
    state = 0;
  }
  bool settle(uint64_t v, bool commit) override {
    if (version == v && state == 0) state = commit ? 1 : 2;
    return version == v && state == 1;
  }
  [[nodiscard]] std::optional<bool> verdict(uint64_t v) const override {
    if (version != v || state == 0) return std::nullopt;
    return state == 1;
  }
};

inline MemberDigest digest() {
  return {"1", "1", 1, 1};
}

struct World {
  explicit World(const Scenario& s)
      : leader(kRanks, digest(), 1),
        members{MemberCore(1, kRanks, digest()), MemberCore(2, kRanks, digest())} {
    for (auto& r : ranks) r.mutant = s.mutant;
    nProposals = s.proposals.size();
    left = {s.cuts, s.reopens, s.workerKills, s.leaderKills, s.deadlines, s.doubts1, s.doubts2};
  }
  LeaderCore leader;
  std::array<MemberCore, 2> members;
  std::array<RankCalls, kRanks> ranks;
  ModelWord word;
  std::array<std::array<std::vector<Message>, kRanks>, kRanks> wire;  // [from][to]
  bool cut01 = false;
  size_t proposed = 0, nProposals = 0;
  struct Left {
    int cuts, reopens, workerKills, leaderKills, deadlines;
    int doubts1, doubts2;  // of ranks 1 and 2
  } left{};
  /// What some rank has run: 0 nobody yet, else config id + 1.
  std::array<std::array<uint8_t, kMaxCalls>, kTasks> ran{};

  [[nodiscard]] uint64_t hash() const {
    Hash h;
    const auto& l = leader.state();
    h(l.lastVersion * 8 + l.frozen * 4 + l.off.has_value() * 2 + l.outstanding.has_value());
    if (const auto& o = l.outstanding) {
      h(o->prepare);
      for (const uint64_t b : o->base) h(b);
      for (const auto& a : o->acks) a ? h(*a) : h(uint64_t{77});
      for (const bool done : o->settled) h(done);
      h(o->verdict ? 1 + *o->verdict : 0);
      h(o->waited);
    }
    if (proposed < nProposals) {  // else they change nothing any more
      for (const auto& [key, horizon] : l.horizon) h(horizon);
      for (const auto& [key, from] : l.lastFrom) h(from);
    }
    for (const auto& m : members) {
      const auto& s = m.state();
      h(s.frozen * 2 + s.off.has_value());
      if (s.pending) h(*s.pending);
      h(s.lastAck);
      h(s.last);
      h(s.promised);
    }
    for (const auto& r : ranks) r.hash(h);
    h(word.version * 4 + static_cast<uint64_t>(word.state));
    for (const auto& row : wire)
      for (const auto& queue : row) {
        h(queue.size());
        for (const auto& m : queue) {
          h(m.index());
          std::visit(h, m);
        }
      }
    h(cut01 * 16 + proposed);
    for (const int n : {left.cuts, left.reopens, left.workerKills, left.leaderKills, left.deadlines,
                        left.doubts1, left.doubts2})
      h(static_cast<uint64_t>(n));
    for (const auto& row : ran)
      for (const uint8_t id : row) h(id);
    return h.value();
  }
};

}  // namespace autoccl::model
