#include "edge/nccl/task_book.h"

#include <algorithm>

namespace autoccl::nccl {

TaskBook::TaskBook(int nRanks) : nRanks_(nRanks), places_(std::make_unique<Place[]>(kPlaces)) {}

// HOT
Task TaskBook::taskOf(Collective collective, uint64_t nBytes, PairSet possible) noexcept {
  Task task;
  task.collective = collective;
  task.dtype = kAnyDataType;
  task.op = kAnyReduceOp;
  task.nRanks = nRanks_;
  task.variant = possible;
  const size_t n = nExact_.load(std::memory_order_relaxed);
  bool exact = (nBytes & (nBytes - 1)) == 0;
  for (size_t i = 0; !exact && i < n; ++i)
    exact = exactSizes_[i].load(std::memory_order_relaxed) == nBytes;
  if (!exact && n < kExactSizes) {
    exactSizes_[n].store(nBytes, std::memory_order_relaxed);
    nExact_.store(n + 1, std::memory_order_relaxed);
    exact = true;
  }
  task.bytes = exact ? nBytes : sizeClass(nBytes);
  return task;
}

TaskBook::Place* TaskBook::find(uint64_t key) const noexcept {
  for (auto i = static_cast<uint32_t>(key) % kPlaces;; i = (i + 1) % kPlaces) {
    const uint64_t found = places_[i].key.load(std::memory_order_acquire);
    if (found == key) return &places_[i];
    if (found == 0) return nullptr;
  }
}

// HOT but for the first call of a task
TaskMeasuring* TaskBook::meet(uint64_t taskKey, const CostTable* costs) noexcept {
  if (Place* known = find(taskKey)) return &known->measuring;
  if (used_.fetch_add(1, std::memory_order_relaxed) >= kMostTasks) {
    used_.store(kMostTasks, std::memory_order_relaxed);
    return nullptr;
  }
  for (auto i = static_cast<uint32_t>(taskKey) % kPlaces;; i = (i + 1) % kPlaces) {
    uint64_t found = 0;
    if (!places_[i].key.compare_exchange_strong(found, taskKey, std::memory_order_acq_rel))
      continue;
    places_[i].hasCosts = costs != nullptr;
    for (int n = 0; costs != nullptr && n < kAlgos * kProtos; ++n)
      places_[i].costs[static_cast<size_t>(n)] = costs->us({n / kProtos, n % kProtos});
    places_[i].written.store(true, std::memory_order_release);
    return &places_[i].measuring;
  }
}

void TaskBook::noteOwnChoice(uint64_t taskKey, OwnChoice choice) noexcept {
  auto& most = mostChannels_[static_cast<size_t>(choice.pair.algo)];
  if (choice.channels > most.load(std::memory_order_relaxed))
    most.store(choice.channels, std::memory_order_relaxed);
  const auto pair = static_cast<uint32_t>(choice.pair.algo * kProtos + choice.pair.proto);
  if (Place* place = find(taskKey))
    place->own.store(static_cast<uint32_t>(choice.channels) << 8 | (pair + 1),
                     std::memory_order_relaxed);
}

std::optional<PairCosts> TaskBook::costsOf(uint64_t taskKey) const noexcept {
  const Place* place = find(taskKey);
  if (place == nullptr || !place->written.load(std::memory_order_acquire) || !place->hasCosts)
    return std::nullopt;
  return place->costs;
}

std::optional<OwnChoice> TaskBook::ownChoiceOf(uint64_t taskKey) const noexcept {
  const Place* place = find(taskKey);
  const uint32_t own = place != nullptr ? place->own.load(std::memory_order_relaxed) : 0;
  if (own == 0) return std::nullopt;
  const int pair = static_cast<int>(own & 0xff) - 1;
  return OwnChoice{{pair / kProtos, pair % kProtos}, static_cast<int>(own >> 8)};
}

}  // namespace autoccl::nccl
