#include "transport/wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace autoccl {
namespace {

constexpr long kNapNs = 5'000'000;       // longest sleep between looks at epoch and peers
constexpr uint32_t kYieldsPerLook = 64;  // yields between looks at the peers
constexpr uint32_t kHotLooks = 256;      // without a pause (some 50 ns) between them, for the
                                         // shortest waits; never more than pauses follow

inline void pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

bool mayGoOn(const WaitRules& r) noexcept {
  if (r.epoch && r.epoch->load(std::memory_order_acquire) != r.expectedEpoch) return false;
  return !r.alive || r.alive(r.aliveContext);
}

void sleepOn(FlagWord& flag, uint32_t seen) noexcept {
  const timespec nap{0, kNapNs};
  syscall(SYS_futex, &flag.value, FUTEX_WAIT, seen, &nap, nullptr, 0);
}

void wakeSleepers(FlagWord& flag) noexcept {
  // seq_cst on both sides: either the waiter sees the new value before it sleeps, or we see it.
  if (flag.sleepers.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &flag.value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool sleepUntil(FlagWord& flag, uint32_t target, const WaitRules& r) noexcept {
  flag.sleepers.fetch_add(1, std::memory_order_seq_cst);
  bool go = true;
  for (;;) {
    const uint32_t seen = flag.value.load(std::memory_order_seq_cst);
    if (reached(seen, target)) break;
    if (!mayGoOn(r)) {  // a peer may have raised the flag as the last thing it did
      go = reached(flag.value.load(std::memory_order_seq_cst), target);
      break;
    }
    sleepOn(flag, seen);
  }
  flag.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return go;
}

}  // namespace

bool waitFor(FlagWord& flag, uint32_t target, const WaitRules& r) noexcept {
  for (uint32_t i = std::min(r.spins, kHotLooks); i > 0; --i)
    if (reached(flag.value.load(std::memory_order_acquire), target)) return true;
  for (uint32_t i = 0; i < r.spins; ++i) {
    if (reached(flag.value.load(std::memory_order_acquire), target)) return true;
    pause();
  }
  if (r.policy == WaitPolicy::kFutex) return sleepUntil(flag, target, r);
  uint32_t turns = r.spins;
  while (!reached(flag.value.load(std::memory_order_acquire), target))
    if (!waitOnce(turns, r)) return reached(flag.value.load(std::memory_order_acquire), target);
  return true;
}

bool waitOnce(uint32_t& turns, const WaitRules& r) noexcept {
  ++turns;
  if (turns <= r.spins || r.policy == WaitPolicy::kSpin) {
    pause();
    return (turns & 0xfff) != 0 || mayGoOn(r);
  }
  if (r.policy == WaitPolicy::kYield) {
    sched_yield();
  } else {
    const timespec nap{0, 50'000};
    nanosleep(&nap, nullptr);
  }
  return turns % kYieldsPerLook != 0 || mayGoOn(r);
}

void raise(FlagWord& flag, uint32_t value) noexcept {
  flag.value.store(value, std::memory_order_seq_cst);
  wakeSleepers(flag);
}

uint32_t add(FlagWord& flag, uint32_t amount) noexcept {
  const uint32_t after = flag.value.fetch_add(amount, std::memory_order_seq_cst) + amount;
  wakeSleepers(flag);
  return after;
}

}  // namespace autoccl
