#include "edge/nccl/stamps.h"

#include <algorithm>

namespace autoccl::nccl {
namespace {

constexpr uint64_t kLongestNs = 60'000'000'000;  // a longer call is a stamp of another one
constexpr int kAddressBits = 48;                 // of user memory on x86-64 and arm64
constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;

uint32_t generationOf(uint64_t life) noexcept {
  return static_cast<uint32_t>(life >> 32);
}
uint32_t openOf(uint64_t life) noexcept {
  return static_cast<uint32_t>(life);
}
uint64_t lifeOf(uint32_t generation, uint32_t open) noexcept {
  return uint64_t{generation} << 32 | open;
}

void* handleOf(const void* slot, uint32_t generation) noexcept {
  return reinterpret_cast<void*>(reinterpret_cast<uint64_t>(slot) | uint64_t{generation & 0xffff}
                                                                        << kAddressBits);
}
template <class Slot>
Slot* slotOf(void* handle) noexcept {
  return reinterpret_cast<Slot*>(reinterpret_cast<uint64_t>(handle) & kAddressMask);
}
bool isOf(void* handle, uint64_t life) noexcept {
  return reinterpret_cast<uint64_t>(handle) >> kAddressBits == (generationOf(life) & 0xffff);
}

}  // namespace

class StampJoin::Turn {
 public:
  explicit Turn(StampJoin& join) noexcept
      : join_(join), mine_(!join.taken_.test_and_set(std::memory_order_acquire)) {
    if (!mine_) join.drop();
  }
  ~Turn() {
    if (mine_) join_.taken_.clear(std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  explicit operator bool() const noexcept { return mine_; }

 private:
  StampJoin& join_;
  bool mine_;
};

// HOT
void StampJoin::decided(const DecidedCall& call) noexcept {
  const Turn turn(*this);
  if (!turn) return;
  Slot& slot = slots_[head_ % kSlots];
  const uint64_t life = slot.life.load(std::memory_order_acquire);
  if (openOf(life) == kReading) return drop();
  if (openOf(life) != kFree) drop();  // its event, or its last stamp, never came
  uint64_t expected = life;
  if (!slot.life.compare_exchange_strong(expected, lifeOf(generationOf(life) + 1, 1),
                                         std::memory_order_acq_rel))
    return drop();
  slot.start.store(UINT64_MAX, std::memory_order_relaxed);
  slot.stop.store(0, std::memory_order_relaxed);
  slot.join = this;
  slot.call = call;
  slot.remaining = call.bytes;
  slot.epoch = epoch_.load(std::memory_order_relaxed);
  slot.channels = 0;
  slot.ran.reset();
  ++head_;
  if (head_ - tail_ > kSlots) tail_ = head_ - kSlots;
}

bool StampJoin::waits(const Slot& slot, int func) const noexcept {
  return slot.remaining > 0 && slot.call.func == func &&
         slot.epoch == epoch_.load(std::memory_order_relaxed);
}

void StampJoin::giveUp(Slot& slot) noexcept {
  const uint64_t life = slot.life.load(std::memory_order_relaxed);
  slot.remaining = 0;
  slot.life.store(lifeOf(generationOf(life), kFree), std::memory_order_release);
  drop();
}

StampJoin::Slot* StampJoin::waitingFor(int func, uint64_t bytes) noexcept {
  while (tail_ != head_ && slots_[tail_ % kSlots].remaining == 0) ++tail_;
  Slot* exact = nullptr;
  Slot* larger = nullptr;
  bool several = false;
  for (uint32_t i = tail_; i != head_; ++i) {
    Slot& slot = slots_[i % kSlots];
    if (!waits(slot, func) || slot.remaining < bytes) continue;
    if (slot.call.bytes == bytes) {
      several = exact != nullptr;
      if (several) giveUp(*exact);
      exact = &slot;
    } else if (larger == nullptr) {
      larger = &slot;
    }
  }
  if (!several) return exact != nullptr ? exact : larger;
  giveUp(*exact);  // one of them never ran (a simulated call), or two look alike: neither is sure
  return nullptr;
}

// HOT
void* StampJoin::collStarted(int func, uint64_t bytes, int channels,
                             std::optional<Pair> ran) noexcept {
  if (bytes == 0 || channels <= 0) return nullptr;
  const Turn turn(*this);
  if (!turn) return nullptr;
  Slot* slot = waitingFor(func, bytes);
  if (slot == nullptr) {
    drop();
    return nullptr;
  }
  if (slot->remaining != slot->call.bytes && slot->ran != ran) slot->ran.reset();
  if (slot->remaining == slot->call.bytes) slot->ran = ran;
  slot->channels = std::max(slot->channels, channels);
  slot->remaining -= bytes;
  const auto more = static_cast<uint64_t>(channels) - (slot->remaining == 0 ? 1 : 0);
  const uint64_t life = slot->life.fetch_add(more, std::memory_order_acq_rel);
  return handleOf(slot, generationOf(life));
}

// HOT
void* StampJoin::channelStarted(void* coll, uint64_t startTimer) noexcept {
  if (coll == nullptr) return nullptr;
  Slot& slot = *slotOf<Slot>(coll);
  if (!isOf(coll, slot.life.load(std::memory_order_acquire))) return nullptr;
  uint64_t first = slot.start.load(std::memory_order_relaxed);
  while (startTimer < first &&
         !slot.start.compare_exchange_weak(first, startTimer, std::memory_order_relaxed)) {
  }
  return coll;
}

StampJoin* StampJoin::joinOf(void* channel) noexcept {
  return channel == nullptr ? nullptr : slotOf<Slot>(channel)->join;
}

// HOT
std::optional<StampedCall> StampJoin::channelStopped(void* channel, uint64_t stopTimer) noexcept {
  if (channel == nullptr) return std::nullopt;
  Slot& slot = *slotOf<Slot>(channel);
  uint64_t last = slot.stop.load(std::memory_order_relaxed);
  while (stopTimer > last &&
         !slot.stop.compare_exchange_weak(last, stopTimer, std::memory_order_relaxed)) {
  }
  uint64_t life = slot.life.load(std::memory_order_acquire);
  do {
    if (!isOf(channel, life) || openOf(life) == kFree || openOf(life) == kReading)
      return std::nullopt;
  } while (!slot.life.compare_exchange_weak(life, life - 1, std::memory_order_acq_rel));
  if (openOf(life) != 1) return std::nullopt;
  StampedCall done{slot.call, slot.ran, slot.channels, slot.start.load(std::memory_order_relaxed),
                   slot.stop.load(std::memory_order_relaxed)};
  slot.life.store(lifeOf(generationOf(life), kFree), std::memory_order_release);
  const bool sound =
      done.stopTimer > done.startTimer && done.stopTimer - done.startTimer < kLongestNs;
  if (!sound || done.startTimer == 0) {
    drop();
    return std::nullopt;
  }
  return done;
}

}  // namespace autoccl::nccl
