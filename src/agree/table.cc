#include "agree/table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.h"
#include "transport/wait.h"

namespace autoccl {
namespace {

constexpr int64_t kAgentGraceNs = 500'000'000;  // the agent thread, not a caller, should end a wait
constexpr uint32_t kSpinsAtFence = 256;

// SplitMix64's finaliser.
uint64_t mix(uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t digestOf(uint64_t key, uint64_t index, const Config& config) noexcept {
  uint64_t words[2];
  static_assert(sizeof(words) == sizeof(Config));
  std::memcpy(words, &config, sizeof(words));
  return mix(mix(key + index * 0x9e3779b97f4a7c15ULL) ^ words[0] ^ std::rotl(words[1], 32));
}

enum class Birth : uint32_t { kNone, kWriting, kDone };

}  // namespace

struct TaskTable::Schedule {
  /// calm: the last config of the version that brought the entry, which follows its trials. It is
  /// known with the entry, so a call at that index finds the same on all ranks, whatever has been
  /// agreed since for later ones.
  struct InForce : TableEntry {
    Config calm;
  };
  std::vector<InForce> entries;
};

struct alignas(64) TaskTable::Slot {
  std::atomic<uint64_t> key{0};
  std::atomic<uint64_t> counter{0};
  std::atomic<uint64_t> fence{kNoFence};
  std::atomic<const Schedule*> schedule{nullptr};
  std::atomic<uint64_t> resolved{0};  // calls whose resolve() is over
  std::atomic<uint64_t> digest{0};
  std::atomic<Birth> birth{Birth::kNone};
  uint32_t order = 0;  // of first calls; written before birth is kDone, as is fallback
  Config fallback;
};

struct TaskTable::Cold {
  Task task;  // written by the first call's thread before birth is kDone
  std::unique_ptr<const Schedule> current;
  std::vector<std::unique_ptr<const Schedule>> retired;
  uint64_t settledBelow = 0;  // every call below has been resolved
};

TaskTable::TaskTable(int maxTasks, int64_t fenceTimeoutNs, bool metTasksOnly,
                     std::function<bool(const Config&)> canRun)
    : mask_(std::bit_ceil(static_cast<uint32_t>(maxTasks) * 2) - 1),
      maxTasks_(static_cast<uint32_t>(maxTasks)),
      fenceTimeoutNs_(fenceTimeoutNs),
      metTasksOnly_(metTasksOnly),
      canRun_(std::move(canRun)),
      slots_(std::make_unique<Slot[]>(mask_ + 1)),
      cold_(mask_ + 1) {}

TaskTable::~TaskTable() = default;

uint32_t TaskTable::lookUp(uint64_t key) const noexcept {
  for (uint32_t i = static_cast<uint32_t>(key) & mask_;; i = (i + 1) & mask_) {
    const uint64_t found = slots_[i].key.load(std::memory_order_acquire);
    if (found == key) return i;
    if (found == 0) return kNoSlot;
  }
}

// The table is at most half full, so every probe ends at an empty slot.
uint32_t TaskTable::findSlot(uint64_t key, bool insert) noexcept {
  const uint32_t known = lookUp(key);
  if (known != kNoSlot || !insert) return known;
  if (used_.fetch_add(1, std::memory_order_relaxed) >= maxTasks_) {
    used_.fetch_sub(1, std::memory_order_relaxed);
    return lookUp(key);
  }
  for (uint32_t i = static_cast<uint32_t>(key) & mask_;; i = (i + 1) & mask_) {
    uint64_t found = 0;
    if (slots_[i].key.compare_exchange_strong(found, key, std::memory_order_acq_rel)) return i;
    if (found == key) {
      used_.fetch_sub(1, std::memory_order_relaxed);
      return i;
    }
  }
}

void TaskTable::firstCall(uint32_t slot, const Task& task, const Config& fallback) noexcept {
  Slot& s = slots_[slot];
  Birth none = Birth::kNone;
  if (!s.birth.compare_exchange_strong(none, Birth::kWriting, std::memory_order_acq_rel)) return;
  s.fallback = fallback;
  cold_[slot].task = task;
  s.order = firstCalls_.fetch_add(1, std::memory_order_acq_rel);
  s.birth.store(Birth::kDone, std::memory_order_release);
}

// HOT
void TaskTable::noteSequence(uint64_t key, uint64_t index) noexcept {
  const uint64_t calls = sequence_.load(std::memory_order_relaxed) + 1;
  const uint64_t hash =
      mix(sequenceHash_.load(std::memory_order_relaxed) ^ (key + index * 0x9e3779b97f4a7c15ULL));
  sequenceHash_.store(hash, std::memory_order_relaxed);
  sequence_.store(calls, std::memory_order_release);
  if (calls % kHashPeriod != 0) return;
  HashCell& cell = hashRing_[calls / kHashPeriod % kHashRing];
  cell.calls.store(0, std::memory_order_release);
  cell.hash.store(hash, std::memory_order_release);
  cell.calls.store(calls, std::memory_order_release);
}

// HOT
CallGate::Ticket TaskTable::take(const Task& task, const Config& fallback) noexcept {
  // A send and its receive are two tasks on two ranks: no index is common to them.
  if (task.collective == Collective::kSendRecv) return {kNoSlot, 0};
  const uint64_t key = keyOf(task);
  const uint32_t slot = findSlot(key, true);
  if (slot == kNoSlot) {
    noteSequence(key, 0);
    return {kNoSlot, 0};
  }
  Slot& s = slots_[slot];
  if (s.birth.load(std::memory_order_acquire) == Birth::kNone) [[unlikely]]
    firstCall(slot, task, fallback);
  const uint64_t index = s.counter.fetch_add(1, std::memory_order_seq_cst);
  noteSequence(key, index);
  return {slot, index};
}

// HOT
bool TaskTable::resolve(CallGate::Ticket ticket, Config& config, TaskStage& stage) noexcept {
  stage = TaskStage::kUntried;
  if (ticket.slot == kNoSlot) return ended() != Ended::kBroken;
  Slot& s = slots_[ticket.slot];
  bool verdict = true;
  if (ticket.index >= s.fence.load(std::memory_order_seq_cst)) [[unlikely]]
    verdict = waitAtFence(s, ticket.index);
  if (verdict) {
    if (s.birth.load(std::memory_order_acquire) == Birth::kDone) config = s.fallback;
    if (const Schedule* schedule = s.schedule.load(std::memory_order_seq_cst)) {
      const auto& entries = schedule->entries;
      stage = ticket.index < entries.back().fromCall ? TaskStage::kTrial : TaskStage::kServed;
      const auto after = std::upper_bound(
          entries.begin(), entries.end(), ticket.index,
          [](uint64_t index, const TableEntry& entry) { return index < entry.fromCall; });
      if (after != entries.begin())
        config = ticket.calm ? std::prev(after)->calm : std::prev(after)->config;
    }
    s.digest.fetch_add(digestOf(s.key.load(std::memory_order_relaxed), ticket.index, config),
                       std::memory_order_relaxed);
  }
  s.resolved.fetch_add(1, std::memory_order_release);
  return verdict && ended() != Ended::kBroken;
}

bool TaskTable::waitAtFence(Slot& slot, uint64_t index) noexcept {
  const int64_t start = nowNs();
  waiters_.fetch_add(1, std::memory_order_acq_rel);
  waited_.store(true, std::memory_order_release);
  const WaitRules rules{WaitPolicy::kFutex, kSpinsAtFence};
  uint32_t turns = 0;
  bool verdict = true;
  while (index >= slot.fence.load(std::memory_order_seq_cst)) {
    if (ended() != Ended::kNo) {
      verdict = false;
      break;
    }
    if (turns > kSpinsAtFence && nowNs() - start > fenceTimeoutNs_ + kAgentGraceNs)
      end(Ended::kBroken);
    (void)waitOnce(turns, rules);
  }
  waiters_.fetch_sub(1, std::memory_order_acq_rel);
  fenceWaitNs_.fetch_add(nowNs() - start, std::memory_order_relaxed);
  return verdict;
}

void TaskTable::end(Ended why) noexcept {
  Ended none = Ended::kNo;
  ended_.compare_exchange_strong(none, why, std::memory_order_acq_rel);
}

Ended TaskTable::ended() const noexcept {
  return ended_.load(std::memory_order_acquire);
}

// At rest: resolved, read first, equals the counter, read second. No call is then between its
// take() and the end of its resolve(), so nobody holds an old schedule or asks for an old entry.
void TaskTable::rest(uint32_t slot) {
  const uint64_t resolved = slots_[slot].resolved.load(std::memory_order_acquire);
  if (resolved != slots_[slot].counter.load(std::memory_order_seq_cst)) return;
  cold_[slot].retired.clear();
  cold_[slot].settledBelow = resolved;
}

void TaskTable::tidy() {
  std::erase_if(untidy_, [&](uint32_t slot) {
    rest(slot);
    return cold_[slot].retired.empty();
  });
}

std::optional<std::string> TaskTable::refusal(uint32_t slot, size_t nEntries) {
  if (slot == kNoSlot)
    return "its table is full (" + std::to_string(maxTasks_) +
           " tasks); fewer sizes or a larger table";
  rest(slot);
  const Cold& cold = cold_[slot];
  if (cold.retired.size() >= kMaxRetired)
    return "its calls have not come to rest since " + std::to_string(kMaxRetired) + " versions";
  if ((cold.current ? cold.current->entries.size() : 0) + nEntries > kMaxEntries)
    return "its table of one task would pass " + std::to_string(kMaxEntries) + " entries";
  return std::nullopt;
}

bool TaskTable::met(uint64_t key) const noexcept {
  const uint32_t slot = lookUp(key);
  return slot != kNoSlot && slots_[slot].birth.load(std::memory_order_acquire) == Birth::kDone;
}

std::optional<std::string> TaskTable::refusal(const Prepare::TaskChange& change) const {
  if (metTasksOnly_ && !met(change.taskKey))
    return "it has had no call of task " + std::to_string(change.taskKey) + " yet";
  for (const TableEntry& entry : change.entries)
    if (canRun_ && !canRun_(entry.config)) return "it cannot run " + toText(entry.config);
  return std::nullopt;
}

std::optional<std::string> TaskTable::install(const Prepare& prepare) {
  for (const auto& task : prepare.tasks)
    if (auto why = refusal(task)) return why;
  for (const auto& task : prepare.tasks)
    if (auto why = refusal(findSlot(task.taskKey, true), task.entries.size())) return why;
  waited_.store(false, std::memory_order_release);
  for (const auto& task : prepare.tasks)
    slots_[lookUp(task.taskKey)].fence.store(task.fence(), std::memory_order_seq_cst);
  return std::nullopt;
}

uint64_t TaskTable::nextIndex(uint64_t taskKey) const {
  const uint32_t slot = lookUp(taskKey);
  return slot == kNoSlot ? 0 : slots_[slot].counter.load(std::memory_order_seq_cst);
}

std::vector<SequenceHash> TaskTable::hashes(size_t most) const {
  std::vector<SequenceHash> found;
  const uint64_t last = sequence_.load(std::memory_order_acquire) / kHashPeriod;
  for (uint64_t n = last; n > 0 && found.size() < std::min(most, kHashRing) && last - n < kHashRing;
       --n) {
    const HashCell& cell = hashRing_[n % kHashRing];
    const uint64_t calls = cell.calls.load(std::memory_order_acquire);
    const uint64_t hash = cell.hash.load(std::memory_order_acquire);
    if (calls == n * kHashPeriod && cell.calls.load(std::memory_order_acquire) == calls)
      found.push_back({calls, hash});
  }
  return found;
}

void TaskTable::publish(uint32_t slot, const std::vector<TableEntry>& entries) {
  Cold& cold = cold_[slot];
  auto next = std::make_unique<Schedule>();
  if (cold.current) {
    const auto& old = cold.current->entries;
    for (size_t i = 0; i < old.size(); ++i) {
      const bool over = i + 1 < old.size() && old[i + 1].fromCall <= cold.settledBelow;
      if (!over && old[i].fromCall < entries.front().fromCall) next->entries.push_back(old[i]);
    }
  }
  for (const TableEntry& entry : entries) next->entries.push_back({entry, entries.back().config});
  slots_[slot].schedule.store(next.get(), std::memory_order_seq_cst);
  if (cold.current) {
    if (cold.retired.empty()) untidy_.push_back(slot);
    cold.retired.push_back(std::move(cold.current));
  }
  cold.current = std::move(next);
}

void TaskTable::settle(const Prepare& prepare, bool commit) {
  for (const auto& task : prepare.tasks) {
    const uint32_t slot = lookUp(task.taskKey);
    if (slot == kNoSlot) continue;  // install() refused it
    if (commit) publish(slot, task.entries);
    slots_[slot].fence.store(kNoFence, std::memory_order_seq_cst);
  }
}

bool TaskTable::waitedSinceInstall() const {
  return waited_.load(std::memory_order_acquire);
}

std::vector<Task> TaskTable::newTasks() {
  std::vector<std::pair<uint32_t, uint32_t>> found;  // order, slot
  if (firstCalls_.load(std::memory_order_acquire) == reported_) return {};
  for (uint32_t i = 0; i <= mask_; ++i)
    if (slots_[i].birth.load(std::memory_order_acquire) == Birth::kDone &&
        slots_[i].order >= reported_)
      found.emplace_back(slots_[i].order, i);
  std::sort(found.begin(), found.end());
  std::vector<Task> tasks;
  for (const auto& [order, slot] : found) {
    if (order != reported_) break;  // its elder is still being written: next time
    ++reported_;
    tasks.push_back(cold_[slot].task);
  }
  return tasks;
}

bool TaskTable::waiting() const noexcept {
  return waiters_.load(std::memory_order_acquire) != 0;
}

int64_t TaskTable::fenceWaitNs() const noexcept {
  return fenceWaitNs_.load(std::memory_order_relaxed);
}

uint64_t TaskTable::resolvedDigest() const noexcept {
  uint64_t sum = 0;
  for (uint32_t i = 0; i <= mask_; ++i) sum += slots_[i].digest.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace autoccl
