// One word per lane of a rank that a peer touches when it has moved something the lane waits for.
#pragma once

#include <cstddef>

#include "transport/wait.h"

namespace autoccl {

/// A lane may wait for many queues at once, but can sleep on one word only: this one. A peer rings
/// it after each change, and pays for that only when the lane is really asleep.
///
/// Why no wake-up is lost: the lane announces itself (sleepers), then looks at its queues again;
/// the peer moves a queue, then looks at sleepers; all four seq_cst, so one of them sees the other.
///
/// Shape: nRanks x lanes flags in zeroed memory shared by all ranks; owns nothing. Each bell is
/// waited on by one thread at a time; anyone may ring.
class Doorbells {
 public:
  [[nodiscard]] static size_t requiredBytes(int nRanks, int lanes) noexcept {
    return static_cast<size_t>(nRanks) * static_cast<size_t>(lanes) * sizeof(Flag);
  }
  Doorbells(void* shared, int lanes) noexcept : flags_(static_cast<Flag*>(shared)), lanes_(lanes) {}

  /// To be called after a seq_cst store of what changed. HOT: one load unless the lane sleeps.
  void ring(int rank, int lane) const noexcept {
    Flag& bell = at(rank, lane);
    if (bell.sleepers.load(std::memory_order_seq_cst) != 0) add(bell, 1);
  }

  /// Returns true once ready() does; false when the rules end the wait. ready() must read with
  /// seq_cst and is called often.
  template <class Ready>
  [[nodiscard]] bool waitUntil(int rank, int lane, const WaitRules& rules, Ready&& ready) const {
    uint32_t turns = 0;
    while (!ready()) {
      const bool sleeps = rules.policy == WaitPolicy::kFutex && turns >= rules.spins;
      if (sleeps ? !sleepOnce(at(rank, lane), rules, ready) : !waitOnce(turns, rules)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] Flag& at(int rank, int lane) const noexcept {
    return flags_[static_cast<size_t>(rank) * static_cast<size_t>(lanes_) +
                  static_cast<size_t>(lane)];
  }

  template <class Ready>
  static bool sleepOnce(Flag& bell, WaitRules rules, Ready&& ready) {
    bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t seen = bell.value.load(std::memory_order_seq_cst);
    rules.spins = 0;
    const bool goOn = ready() || waitFor(bell, seen + 1, rules);
    bell.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    return goOn;
  }

  Flag* flags_;
  int lanes_;
};

}  // namespace autoccl
