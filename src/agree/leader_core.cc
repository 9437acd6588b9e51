#include <algorithm>
#include <set>

#include "agree/core.h"

namespace autoccl {
namespace {

constexpr uint64_t kMaxHorizon = uint64_t{1} << 24;
constexpr size_t kHashMemory = 256;
constexpr size_t kMaxNames = 8;  // in a sentence

std::string nameOf(size_t rank) {
  return "rank " + std::to_string(rank);
}

/// The workers of which `holds` is true, the first few by name.
template <class Holds>
std::string namesOf(size_t nRanks, Holds holds) {
  std::string names;
  size_t more = 0;
  for (size_t rank = 1, named = 0; rank < nRanks; ++rank) {
    if (!holds(rank)) continue;
    if (++named > kMaxNames)
      ++more;
    else
      names += (names.empty() ? "" : ", ") + nameOf(rank);
  }
  return more == 0 ? names : names + " and " + std::to_string(more) + " more";
}

/// The first field in which two digests differ, as text; empty where they agree.
std::string difference(const MemberDigest& a, const MemberDigest& b) {
  if (a.version != b.version)
    return "version ('" + b.version + "', rank 0 has '" + a.version + "')";
  if (a.library != b.library)
    return "library ('" + b.library + "', rank 0 has '" + a.library + "')";
  if (a.settings != b.settings) return "settings (an AUTOCCL_* variable differs from rank 0's)";
  if (a.space != b.space) return "space (its engine can do other things than rank 0's)";
  return "";
}

std::string faultOf(const Proposal& proposal) {
  size_t entries = 0;
  std::set<uint64_t> keys;
  for (const auto& task : proposal.tasks) {
    entries += task.entries.size();
    if (task.taskKey == 0 || !keys.insert(task.taskKey).second)
      return "the proposal has no task key, or one twice";
    if (task.entries.empty() || task.entries.front().offset != 0)
      return "the proposal has a task without an entry at offset 0";
    for (size_t i = 0; i < task.entries.size(); ++i) {
      const auto& e = task.entries[i];
      if (i > 0 && e.offset <= task.entries[i - 1].offset)
        return "the proposal has offsets that do not ascend";
      if (!wellFormed(e.config)) return "the proposal has a config that is none";
    }
  }
  if (proposal.tasks.size() <= kMaxTasksPerPrepare && entries <= kMaxEntriesPerPrepare) return "";
  return "the proposal has " + std::to_string(proposal.tasks.size()) + " tasks and " +
         std::to_string(entries) + " entries; allowed are " + std::to_string(kMaxTasksPerPrepare) +
         " and " + std::to_string(kMaxEntriesPerPrepare);
}

}  // namespace

LeaderCore::LeaderCore(int nRanks, const MemberDigest& own, uint64_t minHorizon)
    : nRanks_(nRanks), minHorizon_(std::max<uint64_t>(minHorizon, 1)) {
  state_.digests.resize(static_cast<size_t>(nRanks));
  state_.digests[0] = own;
  state_.joined = nRanks == 1;
}

uint64_t& LeaderCore::horizonOf(uint64_t taskKey) {
  return state_.horizon.try_emplace(taskKey, minHorizon_).first->second;
}

Prepare LeaderCore::place(const Proposal& proposal, std::vector<uint64_t>& base, Hands hands) {
  Prepare p{state_.lastVersion, proposal.freeze, {}};
  for (const auto& plan : proposal.tasks) {
    base.push_back(hands.calls.nextIndex(plan.taskKey));
    const auto last = state_.lastFrom.find(plan.taskKey);
    const uint64_t above = last == state_.lastFrom.end() ? 0 : last->second + 1;
    const uint64_t from = std::max(base.back() + horizonOf(plan.taskKey), above);
    Prepare::TaskChange change{plan.taskKey, {}};
    for (const auto& entry : plan.entries)
      change.entries.push_back({from + entry.offset, entry.config});
    p.tasks.push_back(std::move(change));
  }
  return p;
}

bool LeaderCore::propose(const Proposal& proposal, Hands hands) {
  if (!state_.joined || state_.off || state_.frozen || state_.ending || state_.outstanding)
    return false;
  if (auto fault = faultOf(proposal); !fault.empty()) {
    outcome_ = Outcome{false, 0, {}, std::move(fault)};
    return true;
  }
  ++state_.lastVersion;
  Outstanding o;
  o.prepare = place(proposal, o.base, hands);
  o.acks.resize(static_cast<size_t>(nRanks_));
  o.settled.assign(static_cast<size_t>(nRanks_), false);
  if (hands.word) hands.word->open(state_.lastVersion);
  Ack own{state_.lastVersion, {}, {}, false, ""};
  const auto why = hands.calls.install(o.prepare);
  if (why) {
    own.veto = true;
    own.reason = *why;
  }
  for (const auto& task : o.prepare.tasks)
    own.nextIndex.push_back(hands.calls.nextIndex(task.taskKey));
  own.hashes = hands.calls.hashes(kHashMemory);
  for (int rank = 1; rank < nRanks_; ++rank) hands.out.push_back({rank, o.prepare});
  state_.outstanding = std::move(o);
  acknowledge(0, own, hands);
  return true;
}

void LeaderCore::receive(int from, const Message& message, Hands hands) {
  if (from <= 0 || from >= nRanks_) return;
  if (const auto* j = std::get_if<Join>(&message)) return join(from, *j, hands);
  if (const auto* ack = std::get_if<Ack>(&message)) return acknowledge(from, *ack, hands);
  if (const auto* s = std::get_if<Settled>(&message)) return settledBy(from, *s, hands);
  if (const auto* ask = std::get_if<Ask>(&message)) {
    const auto& o = state_.outstanding;
    if (!o || o->prepare.version != ask->version) return;
    Knowledge k = Knowledge::kInDoubt;
    if (o->verdict) k = *o->verdict ? Knowledge::kCommit : Knowledge::kAbort;
    hands.out.push_back({from, Tell{ask->version, k}});
  }
}

void LeaderCore::join(int from, const Join& join, Hands hands) {
  const auto rank = static_cast<size_t>(from);
  if (state_.off) {
    hands.out.push_back({from, Off{*state_.off}});
    return;
  }
  if (state_.joined) {
    hands.out.push_back({from, Joined{}});
    return;
  }
  state_.digests[rank] = join.digest;
  if (join.nRanks != static_cast<uint32_t>(nRanks_))
    return turnOff(nameOf(rank) + " differs in ranks (" + std::to_string(join.nRanks) +
                       ", rank 0 has " + std::to_string(nRanks_) + ")",
                   hands);
  if (const auto field = difference(*state_.digests[0], join.digest); !field.empty())
    return turnOff(nameOf(rank) + " differs in " + field, hands);
  for (const auto& digest : state_.digests)
    if (!digest) return;
  state_.joined = true;
  for (int to = 1; to < nRanks_; ++to) hands.out.push_back({to, Joined{}});
}

void LeaderCore::acknowledge(int from, const Ack& ack, Hands hands) {
  auto& o = state_.outstanding;
  if (!o || o->prepare.version != ack.version || o->acks[static_cast<size_t>(from)]) return;
  o->acks[static_cast<size_t>(from)] = ack;
  rememberHashes(from, ack.hashes);
  if (!hashFault_.empty() && !state_.off) return turnOff(hashFault_, hands);
  tally(hands);
}

// The first ACK that speaks against the version ends it; the last one that speaks for it commits.
void LeaderCore::tally(Hands hands) {
  const auto& o = state_.outstanding;
  if (!o || o->verdict) return;
  if (auto against = objection(*o); !against.empty())
    return decide(false, std::move(against), hands);
  for (const auto& ack : o->acks)
    if (!ack) return;
  decide(true, "", hands);
}

std::string LeaderCore::objection(const Outstanding& o) const {
  for (size_t rank = 0; rank < o.acks.size(); ++rank) {
    const auto& ack = o.acks[rank];
    if (!ack || votesYes(o.prepare, *ack)) continue;
    if (ack->veto) return nameOf(rank) + " refuses: " + ack->reason;
    return nameOf(rank) + " was already past the first call; next time further ahead";
  }
  return "";
}

void LeaderCore::decide(bool commit, std::string reason, Hands hands) {
  auto& o = *state_.outstanding;
  const bool wanted = commit;
  if (hands.word) commit = hands.word->settle(o.prepare.version, commit);
  if (wanted && !commit) reason = "a rank in doubt aborted it";
  o.verdict = commit;
  o.settled[0] = true;
  o.waited = hands.calls.waitedSinceInstall();
  // Where install() refused there is no fence; lifting none does no harm.
  hands.calls.settle(o.prepare, commit);
  Outcome outcome{commit, o.prepare.version, {}, std::move(reason)};
  for (const auto& task : o.prepare.tasks) {
    outcome.fromCalls.push_back(task.fence());
    if (commit) state_.lastFrom[task.taskKey] = task.fence();
  }
  if (commit && o.prepare.freeze) state_.frozen = true;
  outcome_ = std::move(outcome);
  const Message verdict = Verdict{o.prepare.version, commit};
  for (int rank = 1; rank < nRanks_; ++rank) hands.out.push_back({rank, verdict});
  if (nRanks_ == 1) {
    adapt(o);
    state_.outstanding.reset();
  }
}

void LeaderCore::settledBy(int from, const Settled& settled, Hands hands) {
  auto& o = state_.outstanding;
  if (!o || o->prepare.version != settled.version) return;
  // Before the verdict a rank settles only what cannot be committed: its own refusal, or a promise.
  if (!o->verdict) decide(false, nameOf(static_cast<size_t>(from)) + " has aborted it", hands);
  o->settled[static_cast<size_t>(from)] = true;
  o->waited = o->waited || settled.waited;
  for (const bool done : o->settled)
    if (!done) return;
  adapt(*o);
  state_.outstanding.reset();
}

// Far enough ahead that no rank is past the fence when PREPARE comes, nor waits there for the
// verdict; no further than that takes. Measured in calls, so rate and round trip are both in it.
void LeaderCore::adapt(const Outstanding& o) {
  for (size_t i = 0; i < o.prepare.tasks.size(); ++i) {
    uint64_t furthest = 0;
    for (const auto& ack : o.acks)
      if (ack && i < ack->nextIndex.size()) furthest = std::max(furthest, ack->nextIndex[i]);
    const uint64_t ran = furthest > o.base[i] ? furthest - o.base[i] : 0;
    uint64_t& horizon = horizonOf(o.prepare.tasks[i].taskKey);
    const uint64_t needed = std::max(minHorizon_, 2 * ran);
    if (furthest > o.prepare.tasks[i].fence())
      horizon = needed + minHorizon_;
    else if (o.waited)
      horizon = std::max(needed, horizon + horizon / 2 + 1);
    else if (*o.verdict && needed < horizon)
      horizon -= (horizon - needed + 7) / 8;
    horizon = std::min(horizon, kMaxHorizon);
  }
}

void LeaderCore::rememberHashes(int rank, const std::vector<SequenceHash>& hashes) {
  for (const auto& h : hashes) {
    const auto [at, isNew] = hashes_.try_emplace(h.calls, KnownHash{h.hash, rank});
    if (!isNew && at->second.hash != h.hash && hashFault_.empty())
      hashFault_ = nameOf(static_cast<size_t>(rank)) + " and " +
                   nameOf(static_cast<size_t>(at->second.rank)) +
                   " issued different calls within the first " + std::to_string(h.calls) +
                   "; all ranks must issue the same sequence";
  }
  while (hashes_.size() > kHashMemory) hashes_.erase(hashes_.begin());
}

void LeaderCore::turnOff(const std::string& reason, Hands hands) {
  if (state_.off) return;
  state_.off = reason;
  if (state_.outstanding && !state_.outstanding->verdict) decide(false, reason, hands);
  for (int rank = 1; rank < nRanks_; ++rank) hands.out.push_back({rank, Off{reason}});
}

void LeaderCore::died(int rank, Hands hands) {
  turnOff(nameOf(static_cast<size_t>(rank)) + " died", hands);
}

void LeaderCore::left(Hands hands) {
  state_.ending = true;
  if (state_.outstanding && !state_.outstanding->verdict) decide(false, "a rank has left", hands);
}

void LeaderCore::deadline(Hands hands) {
  if (state_.outstanding && !state_.outstanding->verdict)
    decide(false, missing() + " did not answer in time", hands);
}

void LeaderCore::poll(Hands hands) {
  const auto& o = state_.outstanding;
  if (!hands.word || !o || o->verdict) return;
  if (hands.word->verdict(o->prepare.version)) decide(false, "a rank in doubt aborted it", hands);
}

std::string LeaderCore::missing() const {
  const auto& o = state_.outstanding;
  if (!o) return "";
  return namesOf(o->acks.size(), [&](size_t rank) {
    return !(o->verdict ? o->settled[rank] : o->acks[rank].has_value());
  });
}

std::string LeaderCore::absent() const {
  return namesOf(state_.digests.size(), [&](size_t rank) { return !state_.digests[rank]; });
}

void LeaderCore::resend(int rank, Hands hands) const {
  const auto& o = state_.outstanding;
  const auto at = static_cast<size_t>(rank);
  if (!o || o->settled[at]) return;
  if (o->verdict)
    hands.out.push_back({rank, Verdict{o->prepare.version, *o->verdict}});
  else if (!o->acks[at])
    hands.out.push_back({rank, o->prepare});
}

void LeaderCore::linkUp(int rank, Hands hands) {
  if (state_.off) hands.out.push_back({rank, Off{*state_.off}});
  resend(rank, hands);
}

void LeaderCore::remind(Hands hands) {
  for (int rank = 1; rank < nRanks_; ++rank) resend(rank, hands);
}

std::optional<Outcome> LeaderCore::takeOutcome() {
  std::optional<Outcome> outcome;
  outcome.swap(outcome_);
  return outcome;
}

}  // namespace autoccl
