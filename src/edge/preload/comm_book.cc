#include "edge/preload/comm_book.h"

namespace autoccl::preload {
namespace {

size_t slotOf(Comm comm, size_t slots) noexcept {
  const auto bits = reinterpret_cast<uintptr_t>(comm) >> 4;  // malloc's alignment
  return static_cast<size_t>(bits * 0x9e3779b97f4a7c15ULL >> 40) % slots;
}

}  // namespace

void TaskCounts::Row::name(const Task& task) noexcept {
  what.store(uint64_t(task.collective) | uint64_t(task.dtype) << 8 | uint64_t(task.op) << 16 |
             uint64_t(static_cast<uint32_t>(task.nRanks)) << 32);
  bytes.store(task.bytes);
}

Task TaskCounts::Row::task() const noexcept {
  const uint64_t bits = what.load();
  Task task;
  task.collective = static_cast<Collective>(bits & 0xff);
  task.dtype = static_cast<DataType>(bits >> 8 & 0xff);
  task.op = static_cast<ReduceOp>(bits >> 16 & 0xff);
  task.nRanks = static_cast<int>(bits >> 32);
  task.bytes = bytes.load();
  return task;
}

std::atomic<bool>* TaskCounts::count(const Task& task) noexcept {
  constexpr size_t kProbes = 16;
  const uint64_t key = keyOf(task);
  for (size_t i = 0; i < kProbes; ++i) {
    Row& row = rows_[(key + i) % kTasks];
    uint64_t found = row.key.load(std::memory_order_relaxed);
    if (found == 0 && row.key.compare_exchange_strong(found, key)) {
      row.name(task);
      found = key;
    }
    if (found != key) continue;
    row.calls.fetch_add(1, std::memory_order_release);
    return &row.timed;
  }
  others_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void TaskCounts::clear() noexcept {
  for (Row& row : rows_) {
    row.calls.store(0);
    row.timed.store(true);
    row.key.store(0);
  }
  others_.store(0);
}

uint64_t TaskCounts::total() const noexcept {
  uint64_t sum = others_.load();
  for (const Row& row : rows_) sum += row.calls.load();
  return sum;
}

CommEntry* CommBook::find(Comm comm) const noexcept {
  const size_t first = slotOf(comm, kSlots);
  for (size_t i = 0; i < kProbes; ++i) {
    CommEntry* entry = slots_[(first + i) % kSlots].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->comm.load(std::memory_order_acquire) == comm) return entry;
  }
  return nullptr;
}

CommEntry* CommBook::take() noexcept {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < kCommunicators; ++i) {
    CommEntry& entry = entries_[(next_ + i) % kCommunicators];
    if (entry.taken) continue;
    next_ = (next_ + i + 1) % kCommunicators;
    entry.taken = true;
    entry.counts.clear();
    entry.p2pCalls.store(0);
    entry.splits.store(0);
    entry.lane.store(nullptr);
    entry.untimable.store(false);
    entry.family.store(nullptr);
    entry.familyTried.store(false);
    entry.nonBlocking.store(false);
    entry.config.forget();
    entry.known.uniqueId = {};
    entry.known.path = 0;
    entry.known.hasId = false;
    entry.known.rank = entry.known.nRanks = entry.known.device = -1;
    entry.known.wantsTimes.store(false);
    entry.known.broken.store(false);
    return &entry;
  }
  return nullptr;
}

bool CommBook::enter(CommEntry& entry, Comm comm) noexcept {
  const std::lock_guard lock(mutex_);
  if (find(comm) != nullptr) return false;
  const size_t first = slotOf(comm, kSlots);
  for (size_t i = 0; i < kProbes; ++i) {
    const size_t at = (first + i) % kSlots;
    const CommEntry* held = slots_[at].load();
    // A slot whose entry has moved on, or whose communicator has ended, is free again.
    if (held != nullptr && held->home == at && held->comm.load() != nullptr) continue;
    entry.home = at;
    slots_[at].store(&entry, std::memory_order_release);
    entry.comm.store(comm, std::memory_order_release);
    made_.fetch_add(1);
    return true;
  }
  return false;
}

void CommBook::leave(CommEntry& entry) noexcept {
  const std::lock_guard lock(mutex_);
  if (!entry.taken) return;
  entry.comm.store(nullptr);
  endedCalls_.fetch_add(entry.counts.total());
  endedP2p_.fetch_add(entry.p2pCalls.load());
  entry.counts.clear();
  entry.p2pCalls.store(0);
  entry.taken = false;
}

uint64_t CommBook::calls() const noexcept {
  uint64_t sum = endedCalls_.load();
  for (const CommEntry& entry : entries_) sum += entry.counts.total();
  return sum;
}

uint64_t CommBook::p2pCalls() const noexcept {
  uint64_t sum = endedP2p_.load();
  for (const CommEntry& entry : entries_) sum += entry.p2pCalls.load();
  return sum;
}

}  // namespace autoccl::preload
