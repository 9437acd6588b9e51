#include "agree/protocol_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_set>

namespace autoccl::model {

namespace {

/// Walks every reachable state, depth first; states are told apart by a 64-bit hash.
class Explorer {
 public:
  Explorer(const Scenario& scenario, size_t maxStates) : s_(scenario), maxStates_(maxStates) {}

  Result run() {
    auto start = std::make_unique<World>(s_);
    joinAll(*start);
    visit(std::move(start));
    while (!stack_.empty() && !result_.violation) {
      if (result_.states > maxStates_) return result_;
      const auto world = std::move(stack_.back());
      stack_.pop_back();
      const size_t before = result_.steps;
      expand(*world);
      if (result_.steps == before) checkEnd(*world);
    }
    result_.complete = !result_.violation;
    return result_;
  }

 private:
  void visit(std::unique_ptr<World> world) {
    if (!seen_.insert(world->hash()).second) return;
    ++result_.states;
    stack_.push_back(std::move(world));
  }

  template <class Move>
  void branch(const World& from, Move&& move) {
    ++result_.steps;
    auto next = std::make_unique<World>(from);
    move(*next);
    if (!result_.violation) visit(std::move(next));
  }

  Hands hands(World& w, int rank) {
    out_.clear();
    return {w.ranks[static_cast<size_t>(rank)], s_.word ? &w.word : nullptr, out_};
  }

  /// Puts what `rank` has just said on its wires; a wire that is cut or ends at the dead loses it.
  void sendFrom(World& w, int rank) {
    for (auto& o : out_) {
      const bool cut = w.cut01 && ((rank == 0 && o.to == 1) || (rank == 1 && o.to == 0));
      if (cut || !at(w.ranks, o.to).alive) continue;
      at(at(w.wire, rank), o.to).push_back(std::move(o.message));
    }
    out_.clear();
    (void)w.leader.takeOutcome();
  }

  void receive(World& w, int from, int to, const Message& m) {
    const Hands h = hands(w, to);
    if (to == 0)
      w.leader.receive(from, m, h);
    else
      at(w.members, to - 1).receive(from, m, h);
    sendFrom(w, to);
  }

  void deliver(World& w, int from, int to) {
    auto& queue = at(at(w.wire, from), to);
    Message m = std::move(queue.front());
    queue.erase(queue.begin());
    if (auto* tell = std::get_if<Tell>(&m))
      if (s_.mutant == Mutant::kAskerTakesDoubtForAbort && tell->knowledge == Knowledge::kInDoubt)
        tell->knowledge = Knowledge::kAbort;
    if (const auto* ask = std::get_if<Ask>(&m)) {
      const bool unheard = to != 0 && !at(w.members, to - 1).inDoubt() &&
                           at(w.members, to - 1).state().last.version < ask->version;
      if (s_.mutant == Mutant::kAbortWithoutPromise && unheard) {
        at(at(w.wire, to), from).push_back(Tell{ask->version, Knowledge::kAbort});
        return;
      }
    }
    receive(w, from, to, m);
  }

  void joinAll(World& w) {
    for (int r = 1; r < kRanks; ++r) {
      at(w.members, r - 1).remind(hands(w, r));
      sendFrom(w, r);
      deliver(w, r, 0);
    }
    deliver(w, 0, 1);
    deliver(w, 0, 2);
  }

  void runCall(World& w, int rank) {
    auto& r = at(w.ranks, rank);
    const int task = s_.program[r.position];
    const uint64_t index = at(r.counter, task) - 1;
    const auto id = static_cast<uint8_t>(r.configAt(task, index).channels);
    uint8_t& ran = at(w.ran, task)[index];
    if (ran != 0 && ran != id)
      result_.violation = s_.name + ": rank " + std::to_string(rank) + " ran config " +
                          std::to_string(id) + " at call " + std::to_string(index) + " of task " +
                          std::to_string(task) + ", another rank ran " + std::to_string(ran);
    ran = id;
    if (id != 1) ++result_.commits;
    r.inCall = false;
    ++r.position;
  }

  void expandRank(const World& w, int rank) {
    const auto& r = at(w.ranks, rank);
    if (r.position >= s_.program.size()) return;
    const auto task = static_cast<size_t>(s_.program[r.position]);
    if (!r.inCall)
      branch(w, [&](World& n) {
        auto& me = at(n.ranks, rank);
        const uint64_t index = me.counter[task]++;
        me.inCall = true;
        me.waited = me.waited || index >= me.fence[task];
        if (!s_.splitCalls && index < me.fence[task]) runCall(n, rank);
      });
    else if (r.counter[task] - 1 < r.fence[task])
      branch(w, [&](World& n) { runCall(n, rank); });
  }

  /// Nothing can change this rank's table any more: what it has left to call depends on nobody and
  /// disturbs nobody, so one order of it stands for all.
  [[nodiscard]] bool isFinal(const World& w, int rank) const {
    const auto& l = w.leader.state();
    if (w.proposed < w.nProposals) return false;
    if (rank == 0) return !l.outstanding || l.outstanding->verdict;
    return at(w.members, rank - 1).state().last.version == l.lastVersion;
  }

  /// A move that commutes with every other one: taken alone. True when there was one.
  bool expandEager(const World& w) {
    const size_t before = result_.steps;
    for (int r = 0; r < kRanks; ++r) {
      if (at(w.ranks, r).alive && isFinal(w, r)) expandRank(w, r);
      if (result_.steps > before) return true;
    }
    for (int r = 0; r < kRanks; ++r)
      for (int from = 0; from < kRanks; ++from) {
        const auto& queue = at(at(w.wire, from), r);
        if (queue.empty()) continue;
        const auto* tell = std::get_if<Tell>(&queue.front());
        const bool emptyTell =
            tell && s_.mutant == Mutant::kNone && tell->knowledge == Knowledge::kInDoubt;
        const bool lastWord =
            std::holds_alternative<Settled>(queue.front()) && w.left.reopens == 0 && isFinal(w, 0);
        if (!emptyTell && !lastWord) continue;
        branch(w, [&](World& n) { deliver(n, from, r); });
        return true;
      }
    return false;
  }

  /// True while a question of this rank is under way.
  [[nodiscard]] static bool hasAsked(const World& w, int rank) {
    for (int to = 0; to < kRanks; ++to)
      for (const auto* queue : {&at(at(w.wire, rank), to), &at(at(w.wire, to), rank)})
        for (const auto& m : *queue)
          if (std::holds_alternative<Ask>(m) || std::holds_alternative<Tell>(m)) return true;
    return false;
  }

  void expandMember(const World& w, int rank) {
    const auto& m = at(w.members, rank - 1);
    if (!m.inDoubt()) return;
    const int doubts = rank == 1 ? w.left.doubts1 : w.left.doubts2;
    if (s_.word && w.word.verdict(m.state().pending->version))
      branch(w, [&](World& n) {
        at(n.members, rank - 1).poll(hands(n, rank));
        sendFrom(n, rank);
      });
    if (doubts > 0 && !hasAsked(w, rank))
      branch(w, [&](World& n) {
        --(rank == 1 ? n.left.doubts1 : n.left.doubts2);
        at(n.members, rank - 1).doubt(hands(n, rank));
        sendFrom(n, rank);
      });
  }

  void expandLeader(const World& w) {
    const auto& l = w.leader.state();
    if (w.proposed < s_.proposals.size() && !l.outstanding && !l.off && !l.frozen)
      branch(w, [&](World& n) {
        n.leader.propose(s_.proposals[n.proposed++], hands(n, 0));
        sendFrom(n, 0);
      });
    if (!l.outstanding || l.outstanding->verdict) return;
    if (w.left.deadlines > 0)
      branch(w, [&](World& n) {
        --n.left.deadlines;
        n.leader.deadline(hands(n, 0));
        sendFrom(n, 0);
      });
    if (s_.word && w.word.verdict(l.outstanding->prepare.version))
      branch(w, [&](World& n) {
        n.leader.poll(hands(n, 0));
        sendFrom(n, 0);
      });
  }

  void kill(World& w, int rank) {
    at(w.ranks, rank).alive = false;
    for (int from = 0; from < kRanks; ++from) at(at(w.wire, from), rank).clear();
    if (rank != 0 && w.ranks[0].alive) {
      w.leader.died(rank, hands(w, 0));
      sendFrom(w, 0);
    }
  }

  void expandFaults(const World& w) {
    const bool both = w.ranks[0].alive && w.ranks[1].alive;
    if (both && !w.cut01 && w.left.cuts > 0) branch(w, [&](World& n) { cutLink(n); });
    if (both && w.cut01 && w.left.reopens > 0)
      branch(w, [&](World& n) {
        --n.left.reopens;
        n.cut01 = false;
        n.leader.linkUp(1, hands(n, 0));
        sendFrom(n, 0);
        n.members[0].linkUp(0, hands(n, 1));
        sendFrom(n, 1);
      });
    if (w.ranks[1].alive && w.left.workerKills > 0)
      branch(w, [&](World& n) {
        --n.left.workerKills;
        kill(n, 1);
      });
    if (!w.ranks[0].alive || w.left.leaderKills == 0) return;
    for (int lost = 0; lost < 4; ++lost)
      branch(w, [&](World& n) {
        --n.left.leaderKills;
        kill(n, 0);
        for (int to = 1; to < kRanks; ++to)
          if ((lost >> (to - 1)) & 1) at(n.wire[0], to).clear();
      });
  }

  void cutLink(World& w) {
    --w.left.cuts;
    w.cut01 = true;
    w.wire[0][1].clear();
    w.wire[1][0].clear();
    const auto& member = w.members[0].state();
    if (s_.mutant == Mutant::kLostLinkKeepsOldTable && member.pending)
      receive(w, 1, 1, Tell{member.pending->version, Knowledge::kAbort});
  }

  void expand(const World& w) {
    if (expandEager(w)) return;
    for (int r = 0; r < kRanks; ++r) {
      if (!at(w.ranks, r).alive) continue;
      expandRank(w, r);
      if (r == 0) expandLeader(w);
      if (r > 0) expandMember(w, r);
      for (int from = 0; from < kRanks; ++from)
        if (!at(at(w.wire, from), r).empty()) branch(w, [&](World& n) { deliver(n, from, r); });
    }
    expandFaults(w);
  }

  /// Nothing can happen any more: then every call has run, where no fault explains a wait.
  void checkEnd(const World& w) {
    const bool whole = w.ranks[0].alive && w.ranks[1].alive && !w.cut01;
    const bool settles = whole || s_.word;
    for (int r = 0; r < kRanks && settles; ++r)
      if (at(w.ranks, r).alive && at(w.ranks, r).position < s_.program.size())
        result_.violation = s_.name + ": rank " + std::to_string(r) + " waits for ever";
  }

  const Scenario& s_;
  const size_t maxStates_;
  Result result_;
  std::vector<Outgoing> out_;
  std::unordered_set<uint64_t> seen_;
  std::vector<std::unique_ptr<World>> stack_;
};

Result explore(const Scenario& scenario, size_t maxStates) {
  return Explorer(scenario, maxStates).run();
}

Proposal change(const std::vector<int>& tasks, int id, bool freeze = false) {
  Proposal p;
  p.freeze = freeze;
  for (const int t : tasks) p.tasks.push_back({taskKey(t), {{0, configOf(id)}}});
  return p;
}

Scenario plain(std::string name, std::vector<int> program, std::vector<Proposal> proposals) {
  Scenario s;
  s.name = std::move(name);
  s.program = std::move(program);
  s.proposals = std::move(proposals);
  return s;
}

std::vector<Scenario> scenarios() {
  const std::vector<int> mixed{0, 1, 0}, one{0, 0, 0};
  const auto both = change({0, 1}, 1), first = change({0}, 1), next = change({0}, 2);
  std::vector<Scenario> all;
  const auto add = [&](Scenario s, auto&& set) {
    set(s);
    all.push_back(std::move(s));
  };
  add(plain("two tasks in one version; a call is two steps", mixed, {both}),
      [](Scenario& s) { s.splitCalls = true; });
  add(plain("two tasks in one version, then another, by messages", mixed, {both, next}),
      [](Scenario&) {});
  add(plain("two tasks in one version, then another, by the word", mixed, {both, next}),
      [](Scenario& s) { s.word = true; });
  add(plain("ABORT by deadline, a new version at once, a freeze", {0, 0},
            {first, next, change({0}, 3, true)}),
      [](Scenario& s) { s.deadlines = 1; });
  add(plain("link 0-1 is lost and comes back", one, {first}),
      [](Scenario& s) { s.cuts = s.reopens = s.doubts1 = 1; });
  add(plain("link 0-1 is lost and comes back, then another version", {0, 0}, {first, next}),
      [](Scenario& s) { s.cuts = s.reopens = s.doubts1 = 1; });
  add(plain("link 0-1 is lost for good, both ends alive", one, {first}), [](Scenario& s) {
    s.cuts = s.deadlines = 1;
    s.doubts1 = 2;
  });
  add(plain("a worker dies", mixed, {both, next}),
      [](Scenario& s) { s.workerKills = s.deadlines = 1; });
  add(plain("the leader dies, its verdict reaching any subset", one, {first}), [](Scenario& s) {
    s.leaderKills = 1;
    s.doubts1 = s.doubts2 = 1;
  });
  add(plain("the leader dies, with the word", mixed, {both}), [](Scenario& s) {
    s.word = true;
    s.leaderKills = s.doubts1 = s.doubts2 = 1;
  });
  add(plain("the leader is paused, rank 1 loses patience, by messages", {0, 0}, {first, next}),
      [](Scenario& s) { s.doubts1 = s.deadlines = 1; });
  add(plain("the leader is paused, members lose patience, by the word", {0, 0}, {first, next}),
      [](Scenario& s) {
        s.word = true;
        s.doubts1 = s.doubts2 = s.deadlines = 1;
      });
  return all;
}

// Sanitizers make the walk ten times slower and watch each line of it, not each state: there it
// ends after the first states of a scenario. Builds without them walk through all.
#ifdef AUTOCCL_SANITIZED
constexpr bool kWalksThroughAll = false;
constexpr size_t kMostStates = 20'000;
#else
constexpr bool kWalksThroughAll = true;
constexpr size_t kMostStates = 3'000'000;
#endif

TEST(ProtocolModel, NoReachableStateLetsTwoRanksRunDifferentConfigs) {
  size_t total = 0;
  for (const auto& scenario : scenarios()) {
    const Result r = explore(scenario, kMostStates);
    total += r.states;
    std::printf("%9zu states %9zu steps  %s\n", r.states, r.steps, scenario.name.c_str());
    EXPECT_FALSE(r.violation) << *r.violation;
    EXPECT_TRUE(r.complete || !kWalksThroughAll) << scenario.name;
    EXPECT_TRUE(r.commits > 0 || !kWalksThroughAll)
        << scenario.name << ": no version was ever committed";
  }
  std::printf("%9zu states in all\n", total);
}

/// What the walk says of this fault in the scenarios whose names hold `where`; nothing: not caught.
std::optional<std::string> caught(Mutant mutant, const std::string& where) {
  for (auto& scenario : scenarios()) {
    if (scenario.name.find(where) == std::string::npos) continue;
    scenario.mutant = mutant;
    if (auto violation = explore(scenario, 3'000'000).violation) return violation;
  }
  return std::nullopt;
}

TEST(ProtocolModel, ARankThatKeepsItsOldTableWhenItsLinkIsLostIsCaught) {
  EXPECT_TRUE(caught(Mutant::kLostLinkKeepsOldTable, "is lost for good"));
}

TEST(ProtocolModel, OtherFaultsOfOursAreCaught) {
  EXPECT_TRUE(caught(Mutant::kAskerTakesDoubtForAbort, "is lost for good"));
  EXPECT_TRUE(caught(Mutant::kAbortWithoutPromise, "is paused, rank 1"));
  EXPECT_TRUE(caught(Mutant::kNoFence, "two tasks in one version;"));
  EXPECT_TRUE(caught(Mutant::kCounterNotRead, "two tasks in one version;"));
}

}  // namespace

}  // namespace autoccl::model
