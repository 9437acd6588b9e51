#include <algorithm>

#include "agree/core.h"

namespace autoccl {

bool votesYes(const Prepare& prepare, const Ack& ack) {
  if (ack.veto || ack.nextIndex.size() != prepare.tasks.size()) return false;
  for (size_t i = 0; i < prepare.tasks.size(); ++i)
    if (ack.nextIndex[i] > prepare.tasks[i].fence()) return false;
  return true;
}

MemberCore::MemberCore(int rank, int nRanks, const MemberDigest& own)
    : rank_(rank), nRanks_(nRanks), digest_(own) {}

void MemberCore::receive(int from, const Message& message, Hands hands) {
  if (const auto* ask = std::get_if<Ask>(&message)) return answer(from, ask->version, hands);
  if (const auto* tell = std::get_if<Tell>(&message)) {
    if (tell->knowledge != Knowledge::kInDoubt)
      settle(tell->version, tell->knowledge == Knowledge::kCommit, hands);
    return;
  }
  if (from != 0) return;
  if (const auto* p = std::get_if<Prepare>(&message)) return prepare(*p, hands);
  if (const auto* verdict = std::get_if<Verdict>(&message)) {
    settle(verdict->version, verdict->commit, hands);
    if (state_.last.version == verdict->version) hands.out.push_back({0, state_.last});
  } else if (std::holds_alternative<Joined>(message)) {
    state_.joined = true;
  } else if (const auto* off = std::get_if<Off>(&message)) {
    state_.off = off->reason;
  }
}

void MemberCore::prepare(const Prepare& p, Hands hands) {
  if (p.version <= state_.last.version) {  // an old one, sent again
    if (p.version == state_.last.version) hands.out.push_back({0, state_.last});
    return;
  }
  if (state_.pending) {
    if (state_.pending->version == p.version) hands.out.push_back({0, state_.lastAck});
    return;
  }
  Ack ack{p.version, {}, {}, true, ""};
  if (p.version <= state_.promised) {
    ack.reason = "it has promised a rank in doubt to refuse this version";
    return refuse(p, std::move(ack), hands);
  }
  if (state_.frozen) {
    ack.reason = "its table is frozen";
    return refuse(p, std::move(ack), hands);
  }
  // All fences first, then the counters: a call in between is either fenced or counted.
  if (auto why = hands.calls.install(p)) {
    ack.reason = std::move(*why);
    return refuse(p, std::move(ack), hands);
  }
  ack.veto = false;
  for (const auto& task : p.tasks) ack.nextIndex.push_back(hands.calls.nextIndex(task.taskKey));
  ack.hashes = hands.calls.hashes(kMaxHashes);
  if (!votesYes(p, ack)) {
    hands.calls.settle(p, false);
    return refuse(p, std::move(ack), hands);
  }
  state_.pending = p;
  state_.lastAck = ack;
  hands.out.push_back({0, std::move(ack)});
}

// A version that this rank does not vote for cannot be committed: it is settled here and now.
void MemberCore::refuse(const Prepare& p, Ack ack, Hands hands) {
  if (hands.word) (void)hands.word->settle(p.version, false);
  state_.lastAck = ack;
  state_.last = {p.version, false, false};
  hands.out.push_back({0, std::move(ack)});
}

void MemberCore::settle(uint64_t version, bool commit, Hands hands) {
  if (state_.pending && state_.pending->version == version) {
    const bool waited = hands.calls.waitedSinceInstall();
    hands.calls.settle(*state_.pending, commit);
    if (commit && state_.pending->freeze) state_.frozen = true;
    state_.pending.reset();
    state_.last = {version, commit, waited};
  } else if (version > state_.last.version && !state_.pending && !commit) {
    state_.last = {version, false, false};  // aborted before its PREPARE came
  }
}

void MemberCore::answer(int asker, uint64_t version, Hands hands) {
  Tell tell{version, Knowledge::kAbort};
  if (version == state_.last.version) {
    if (state_.last.commit) tell.knowledge = Knowledge::kCommit;
  } else if (state_.pending && state_.pending->version == version) {
    tell.knowledge = Knowledge::kInDoubt;
  } else if (version > state_.last.version && !state_.pending) {
    state_.promised = std::max(state_.promised, version);
  } else {
    return;
  }
  hands.out.push_back({asker, tell});
}

void MemberCore::poll(Hands hands) {
  if (!hands.word || !state_.pending) return;
  const uint64_t version = state_.pending->version;
  if (const auto verdict = hands.word->verdict(version)) {
    settle(version, *verdict, hands);
    hands.out.push_back({0, state_.last});
  }
}

void MemberCore::doubt(Hands hands) {
  if (!state_.pending) return;
  const uint64_t version = state_.pending->version;
  if (hands.word) {
    (void)hands.word->settle(version, false);
    return poll(hands);
  }
  for (int rank = 0; rank < nRanks_; ++rank)
    if (rank != rank_) hands.out.push_back({rank, Ask{version}});
}

void MemberCore::linkUp(int rank, Hands hands) {
  if (rank == 0) remind(hands);
}

void MemberCore::remind(Hands hands) {
  if (!state_.joined && !state_.off)
    hands.out.push_back({0, Join{digest_, static_cast<uint32_t>(nRanks_)}});
  if (state_.pending) hands.out.push_back({0, state_.lastAck});
}

}  // namespace autoccl
