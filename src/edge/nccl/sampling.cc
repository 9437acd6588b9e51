#include "edge/nccl/sampling.h"

namespace autoccl::nccl {
namespace {

constexpr int kSampled = kEventColl | kEventKernelCh;
constexpr int kHeard = kEventCollApi;

}  // namespace

void Sampling::attach(int* mask, int profilerVersion) noexcept {
  if (mask == nullptr) return;
  if (!hasStamps(profilerVersion)) {
    __atomic_store_n(mask, 0, __ATOMIC_RELAXED);  // no GPU stamps: events would tell nothing
    return;
  }
  for (auto& place : masks_) {
    int* other = nullptr;
    if (place.compare_exchange_strong(other, mask) || other == mask) break;
  }
  apply();
}

// Two threads that cross store different words for a moment; whoever comes last reads the counters
// last, so the word that stays is right.
void Sampling::applyTo(int* mask) noexcept {
  const auto wanted = [this] {
    return (wanting_.load() > 0 ? kSampled : 0) | (listening_.load() > 0 ? kHeard : 0);
  };
  int word = 0;
  do {
    word = wanted();
    __atomic_store_n(mask, word, __ATOMIC_SEQ_CST);
  } while (word != wanted());
}

void Sampling::apply() noexcept {
  for (auto& place : masks_) {
    int* mask = place.load(std::memory_order_acquire);
    if (mask == nullptr) return;
    applyTo(mask);
  }
}

void Sampling::want() noexcept {
  if (wanting_.fetch_add(1) == 0) apply();
}

void Sampling::unwant() noexcept {
  if (wanting_.fetch_sub(1) == 1) apply();
}

void Sampling::listen() noexcept {
  if (listening_.fetch_add(1) == 0) apply();
}

void Sampling::unlisten() noexcept {
  if (listening_.fetch_sub(1) == 1) apply();
}

}  // namespace autoccl::nccl
