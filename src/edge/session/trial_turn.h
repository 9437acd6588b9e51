// Whose trials run on this host now: groups of ranks that share links must not disturb each other's
// measurements.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace autoccl {

/// What it does. Leaders of one host and user take turns: while one group's trials run, no other
/// group begins any. A turn is a name in the kernel's table of abstract sockets, bound by whoever
/// has it, so it ends with its process and leaves no file behind. Whoever waits binds a second
/// name, and whoever gives a turn back while that is bound stands back for a moment. Bounds. A turn
/// ends when the last trial's time is known, at the latest kLongestNs after it was agreed; who has
/// waited kPatienceNs goes ahead without (a stopped process cannot hold up all). Ranks of other
/// hosts, other network namespaces and other users are not asked: a group over several hosts has
/// its leader's host's turn. Threads: the leader's agent thread. Cost: three system calls a turn.
/// Errors: where the kernel refuses sockets there are no turns, and take() is true.
class TrialTurn {
 public:
  static constexpr int64_t kLongestNs = 2'000'000'000;
  static constexpr int64_t kPatienceNs = 10'000'000'000;

  /// `place` names the host's links, `owner` this group (for the log).
  TrialTurn(std::string place, std::string owner)
      : place_(std::move(place)), owner_(std::move(owner)) {}
  ~TrialTurn() { giveBack(0); }
  TrialTurn(const TrialTurn&) = delete;
  TrialTurn& operator=(const TrialTurn&) = delete;

  // Times are nowNs() of any moment shortly before, in order.

  /// True where trials may be proposed: it is ours now, or was.
  [[nodiscard]] bool take(int64_t now);
  /// They are agreed: the last trial of each task is that call.
  void begun(std::vector<std::pair<uint64_t, uint64_t>> lastCalls, int64_t now);
  /// A call's time is known.
  void seen(uint64_t taskKey, uint64_t callIndex);
  /// Gives it back when the trials are over.
  void step(int64_t now);
  void giveBack(int64_t now);
  [[nodiscard]] bool held() const { return held_; }

 private:
  [[nodiscard]] std::string nameOf(const char* part) const;
  void log(const char* what) const;

  std::string place_, owner_;
  std::vector<std::pair<uint64_t, uint64_t>> running_;
  int turn_ = -1, waiting_ = -1;  // bound sockets
  bool held_ = false;
  bool begun_ = false;
  int64_t waitingSinceNs_ = 0;
  int64_t endNs_ = 0;        // of a turn whose trials are agreed
  int64_t standBackNs_ = 0;  // until then others go first
};

}  // namespace autoccl
