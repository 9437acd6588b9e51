#include "edge/session/session_gate.h"

namespace autoccl {
namespace {

void bump(std::atomic<int64_t>& counter, int64_t amount) noexcept {
  // One writer: a plain add is enough, and cheaper than a locked one.
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace

void SessionGate::report(const CallRecord& record) noexcept {
  if (reporting_.test_and_set(std::memory_order_acquire)) {
    mine_.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  note(record);
  reporting_.clear(std::memory_order_release);
}

void SessionGate::note(const CallRecord& r) noexcept {
  bump(mine_.calls, 1);
  if (mine_.firstCallNs.load(std::memory_order_relaxed) == 0)
    mine_.firstCallNs.store(r.arrivedNs, std::memory_order_relaxed);
  mine_.lastCallNs.store(r.finishedNs, std::memory_order_relaxed);
  mine_.exposedNs.store(Exposure::totalNs() - exposedBefore_, std::memory_order_relaxed);
  if ((r.callIndex & board_.skipMask()) != 0) return;
  // Whatever the default turns into is what an untouched engine does: it counts as the default.
  const Config& ran = r.untouched ? r.asked : r.inEffect;
  mine_.samples.push({r.taskKey, r.callIndex, ran, r.arrivedNs, r.finishedNs, r.failed, r.clock});
}

}  // namespace autoccl
