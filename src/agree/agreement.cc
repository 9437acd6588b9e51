#include "agree/agreement.h"

#include <algorithm>
#include <map>

#include "agree/core.h"
#include "agree/link.h"
#include "agree/table.h"
#include "base/error.h"

namespace autoccl {
namespace {

constexpr int kMaxTasks = 1 << 16;
constexpr int64_t kRemindNs = 50'000'000;
constexpr int64_t kDoubtNs = 1'000'000'000;   // in doubt for so long with the leader's link up: ask
constexpr int64_t kReopenNs = 300'000'000;    // time for a lost link to come back before asking
constexpr int64_t kBusyStepNs = 500'000;      // a version is under way
constexpr int64_t kIdleStepNs = 2'000'000;    // a PREPARE waits no longer to be seen
constexpr int64_t kQuietStepNs = 20'000'000;  // frozen or off: nothing will come

}  // namespace

/// Glue between table, core and links; holds the only clock readings of the protocol.
class Agreement::Impl {
 public:
  Impl(Options options, std::unique_ptr<LinkSet> links);
  ~Impl();

  int64_t step(int64_t nowNs);
  bool propose(const Proposal& proposal, int64_t nowNs);
  [[nodiscard]] std::optional<std::string> off() const;
  [[nodiscard]] bool joined() const {
    return leader_ ? leader_->state().joined : member_->state().joined;
  }
  [[nodiscard]] bool frozen() const {
    return leader_ ? leader_->state().frozen : member_->state().frozen;
  }
  std::optional<Outcome> outcome() { return leader_ ? leader_->takeOutcome() : std::nullopt; }

  TaskTable table;

 private:
  [[nodiscard]] Hands hands() { return {table, links_ ? links_->word() : nullptr, out_}; }
  void handle(const LinkEvent& event, int64_t nowNs);
  void keepTime(int64_t nowNs);
  void keepMembers(int64_t nowNs);
  void giveUpOn(const std::string& who, const std::string& what);
  void keepDoubt(int64_t nowNs);
  void keepFence(int64_t nowNs);
  void flush();
  [[nodiscard]] uint64_t versionUnderWay() const;

  const Options options_;
  std::unique_ptr<LinkSet> links_;
  std::optional<LeaderCore> leader_;
  std::optional<MemberCore> member_;
  std::vector<Outgoing> out_;
  std::vector<LinkEvent> events_;
  std::optional<std::string> broken_;
  std::optional<std::string> fault_;  // of a link
  std::optional<std::string> late_;   // a worker waits in vain for rank 0; it may still come
  std::map<int, int64_t> lost_;       // ranks whose link is down, and since when
  int64_t startedNs_ = 0;             // the first step
  int64_t remindedNs_ = 0;
  int64_t proposedNs_ = 0;
  int64_t doubtSinceNs_ = 0, askedNs_ = 0;
  int64_t leaderLostNs_ = 0;  // 0: its link is up
  bool leaderGone_ = false;
  int64_t waitSinceNs_ = 0;
  uint64_t waitVersion_ = 0;
};

Agreement::Impl::Impl(Options options, std::unique_ptr<LinkSet> links)
    : table(options.maxTasks, options.fenceTimeoutNs, options.metTasksOnly, options.canRun),
      options_(std::move(options)),
      links_(std::move(links)) {
  if (options_.rank < 0 || options_.rank >= options_.nRanks || options_.maxTasks < 1 ||
      options_.maxTasks > kMaxTasks)
    throw Error(
        ErrorCode::kUsage,
        "agreement: rank " + std::to_string(options_.rank) + " of " +
            std::to_string(options_.nRanks) + ", table of " + std::to_string(options_.maxTasks) +
            " tasks",
        "allowed: a rank below the number of ranks, 1 to " + std::to_string(kMaxTasks) + " tasks");
  if (options_.rank == 0)
    leader_.emplace(options_.nRanks, options_.digest, options_.minHorizonCalls);
  else
    member_.emplace(options_.rank, options_.nRanks, options_.digest);
}

Agreement::Impl::~Impl() {
  if (!leader_) return;
  leader_->left(hands());
  flush();
}

uint64_t Agreement::Impl::versionUnderWay() const {
  if (leader_) {
    const auto& o = leader_->state().outstanding;
    return o ? o->prepare.version : 0;
  }
  return member_->inDoubt() ? member_->state().pending->version : 0;
}

void Agreement::Impl::flush() {
  for (const auto& o : out_)
    if (links_) (void)links_->send(o.to, o.message);
  out_.clear();
}

void Agreement::Impl::handle(const LinkEvent& event, int64_t nowNs) {
  using Kind = LinkEvent::Kind;
  const bool ofLeader = !leader_ && event.rank == 0;
  switch (event.kind) {
    case Kind::kMessage:
      if (leader_) leader_->receive(event.rank, event.message, hands());
      if (member_) member_->receive(event.rank, event.message, hands());
      break;
    case Kind::kUp:
      lost_.erase(event.rank);
      if (ofLeader) leaderLostNs_ = 0;
      if (leader_) leader_->linkUp(event.rank, hands());
      if (member_) member_->linkUp(event.rank, hands());
      break;
    case Kind::kDown:
      lost_.emplace(event.rank, nowNs);
      if (ofLeader) leaderLostNs_ = nowNs;
      break;
    case Kind::kDied:
      if (leader_) leader_->died(event.rank, hands());
      if (ofLeader) {
        leaderGone_ = true;
        fault_ = "rank 0 died, which led the tuning";
      }
      break;
    case Kind::kLeft:
      if (leader_) leader_->left(hands());
      if (!ofLeader) break;
      leaderGone_ = true;  // either way it gives no verdict any more
      leaderLostNs_ = nowNs;
      break;
    case Kind::kFault:
      fault_ = "rank " + std::to_string(event.rank) + ": " + event.reason;
      if (leader_) leader_->turnOff(*fault_, hands());
      break;
  }
}

// A verdict has no deadline; what has one is a frame (the leader's unanswered PREPARE), the
// patience of a rank in doubt before it asks, and a call that waits.
void Agreement::Impl::keepTime(int64_t nowNs) {
  if (nowNs - remindedNs_ >= kRemindNs) {
    remindedNs_ = nowNs;
    if (leader_) leader_->remind(hands());
    if (member_) member_->remind(hands());
  }
  if (leader_) {
    const int64_t deadline = std::min(options_.frameDeadlineNs, options_.fenceTimeoutNs / 2);
    if (leader_->state().outstanding && nowNs - proposedNs_ > deadline) leader_->deadline(hands());
  } else {
    keepDoubt(nowNs);
  }
  keepMembers(nowNs);
  keepFence(nowNs);
}

// Who is to join, and whose link is to come back, has joinTimeoutNs for it. Only the leader
// decides: its word reaches whoever is there. A rank that has no word from it a little later says
// so and goes on as it is.
void Agreement::Impl::keepMembers(int64_t nowNs) {
  if (startedNs_ == 0) startedNs_ = nowNs;
  const int64_t patience = options_.joinTimeoutNs + (leader_ ? 0 : options_.joinTimeoutNs / 4);
  if (leader_ && leader_->state().off) return;
  if (!joined()) {
    if (nowNs - startedNs_ > patience)
      giveUpOn(leader_ ? leader_->absent() : "rank 0", "did not join");
    return;
  }
  const auto lost = std::find_if(lost_.begin(), lost_.end(), [&](const auto& link) {
    return (leader_ || link.first == 0) && nowNs - link.second > patience;
  });
  if (lost != lost_.end())
    giveUpOn("rank " + std::to_string(lost->first), "lost its link, which did not come back");
  else
    late_.reset();
}

void Agreement::Impl::giveUpOn(const std::string& who, const std::string& what) {
  const std::string reason = who + " " + what + " within " +
                             std::to_string(options_.joinTimeoutNs / 1'000'000'000) +
                             " s; see AUTOCCL_INIT_TIMEOUT";
  if (leader_)
    leader_->turnOff(reason, hands());
  else
    late_ = reason;
}

void Agreement::Impl::keepDoubt(int64_t nowNs) {
  if (!member_->inDoubt()) {
    doubtSinceNs_ = 0;
    return;
  }
  if (doubtSinceNs_ == 0) doubtSinceNs_ = nowNs;
  const bool shared = links_ && links_->word();
  // Shared memory: nothing but the leader's death needs action before a call has waited too long.
  if (shared) {
    if (leaderGone_) member_->doubt(hands());
    return;
  }
  const bool lost = leaderLostNs_ != 0 && nowNs - leaderLostNs_ > kReopenNs;
  if ((lost || nowNs - doubtSinceNs_ > kDoubtNs) && nowNs - askedNs_ > kReopenNs) {
    askedNs_ = nowNs;
    member_->doubt(hands());
  }
}

void Agreement::Impl::keepFence(int64_t nowNs) {
  const uint64_t version = versionUnderWay();
  if (!table.waiting() || version == 0 || version != waitVersion_) {
    waitSinceNs_ = nowNs;
    waitVersion_ = version;
    return;
  }
  if (nowNs - waitSinceNs_ < options_.fenceTimeoutNs) return;
  if (member_ && links_ && links_->word()) return member_->doubt(hands());
  const std::string seconds = std::to_string(options_.fenceTimeoutNs / 1'000'000'000);
  broken_ = "rank " + std::to_string(options_.rank) + " waited " + seconds +
            " s for the verdict on version " + std::to_string(version) +
            "; silent: " + (leader_ ? leader_->missing() : "rank 0, and no other rank knows it") +
            "; see AUTOCCL_FENCE_TIMEOUT";
  table.end(Ended::kBroken);
}

int64_t Agreement::Impl::step(int64_t nowNs) {
  if (links_) {
    events_.clear();
    links_->poll(nowNs, events_);
    for (const auto& event : events_) handle(event, nowNs);
  }
  if (leader_) leader_->poll(hands());
  if (member_) member_->poll(hands());
  keepTime(nowNs);
  table.tidy();
  flush();
  if (!broken_ && table.ended() == Ended::kBroken)
    broken_ = "a call waited too long at a fence while the agent thread stood still";
  const bool busy = versionUnderWay() != 0 || (!joined() && !off());
  if (busy) return nowNs + kBusyStepNs;
  return nowNs + (frozen() || off() ? kQuietStepNs : kIdleStepNs);
}

bool Agreement::Impl::propose(const Proposal& proposal, int64_t nowNs) {
  if (!leader_ || table.ended() != Ended::kNo || !lost_.empty()) return false;
  if (!leader_->propose(proposal, hands())) return false;
  proposedNs_ = nowNs;
  flush();
  return true;
}

std::optional<std::string> Agreement::Impl::off() const {
  if (broken_) return broken_;
  if (late_) return late_;
  const auto& said = leader_ ? leader_->state().off : member_->state().off;
  return said ? said : fault_;
}

Agreement::Agreement(Options options, std::unique_ptr<LinkSet> links)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(links))) {}
Agreement::~Agreement() = default;

CallGate::Ticket Agreement::take(const Task& task, const Config& fallback) noexcept {
  return impl_->table.take(task, fallback);
}
bool Agreement::resolve(CallGate::Ticket ticket, Config& config) noexcept {
  return impl_->table.resolve(ticket, config);
}
bool Agreement::resolve(CallGate::Ticket ticket, Config& config, TaskStage& stage) noexcept {
  return impl_->table.resolve(ticket, config, stage);
}
void Agreement::abort() noexcept {
  impl_->table.end(Ended::kAborted);
}
int64_t Agreement::step(int64_t nowNs) {
  return impl_->step(nowNs);
}
bool Agreement::propose(const Proposal& proposal, int64_t nowNs) {
  return impl_->propose(proposal, nowNs);
}
std::optional<Outcome> Agreement::outcome() {
  return impl_->outcome();
}
std::vector<Task> Agreement::newTasks() {
  return impl_->table.newTasks();
}
bool Agreement::joined() const {
  return impl_->joined();
}
bool Agreement::frozen() const {
  return impl_->frozen();
}
std::optional<std::string> Agreement::off() const {
  return impl_->off();
}
bool Agreement::broken() const noexcept {
  return impl_->table.ended() == Ended::kBroken;
}
uint64_t Agreement::nextIndex(uint64_t taskKey) const {
  return impl_->table.nextIndex(taskKey);
}
uint32_t Agreement::tasksCalled() const noexcept {
  return impl_->table.tasksCalled();
}
int64_t Agreement::fenceWaitNs() const noexcept {
  return impl_->table.fenceWaitNs();
}
uint64_t Agreement::resolvedDigest() const noexcept {
  return impl_->table.resolvedDigest();
}

}  // namespace autoccl
