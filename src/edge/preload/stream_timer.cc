#include "edge/preload/stream_timer.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "edge/preload/signals.h"

namespace autoccl::preload {
namespace {

constexpr int64_t kBusyNapNs = 200'000;  // while a call is under way
constexpr size_t kAskedAhead = 8;        // calls that have not ended, asked in one go
constexpr int64_t kIdleNapNs = 5'000'000;
constexpr int64_t kLongestStopNs = 50'000'000;

void nap(int64_t ns) noexcept {
  const timespec length{0, ns};
  nanosleep(&length, nullptr);
}

}  // namespace

TimedLane* StreamTimer::open(nccl::KnownCommunicator& communicator) noexcept {
  const Driver* driver = find_();
  Driver::Context context = nullptr;
  if (driver == nullptr || driver->contextGetCurrent(&context) != 0 || context == nullptr)
    return nullptr;
  const std::lock_guard lock(starting_);
  if (stopped_.load()) return nullptr;
  driver_.store(driver);
  for (TimedLane& lane : lanes_) {
    const std::lock_guard own(lane.mutex_);
    if (lane.of_ != nullptr || lane.context_ != nullptr) continue;  // not yet freed
    lane.of_ = &communicator;
    lane.context_ = context;
    int mode = Driver::kCaptureRelaxed;  // another thread may capture
    const bool relaxed = driver->exchangeCaptureMode(&mode) == 0;
    makeSlots(lane, TimedLane::kFirstSlots);
    if (relaxed) driver->exchangeCaptureMode(&mode);
    lane.open_.store(true);
    if (!started_) {
      try {
        const SignalsBlocked blocked;
        std::thread([this] { serve(); }).detach();
        started_ = true;
      } catch (...) {  // no thread: no times
        lane.of_ = nullptr;
        lane.context_ = nullptr;
        lane.open_.store(false);
        return nullptr;
      }
    }
    return &lane;
  }
  return nullptr;
}

void StreamTimer::close(TimedLane& lane) noexcept {
  const std::lock_guard own(lane.mutex_);
  lane.of_ = nullptr;
  lane.open_.store(false);
}

TimedSlot* StreamTimer::begin(TimedLane& lane, Stream stream) noexcept {
  if (!lane.open_.load(std::memory_order_acquire)) return nullptr;
  const uint32_t ready = lane.ready_.load(std::memory_order_acquire);
  if (ready == 0) return nullptr;
  const uint32_t order = lane.next_.fetch_add(1, std::memory_order_relaxed);
  TimedSlot& slot = lane.slots_[order % ready];
  auto state = TimedSlot::State::kFree;
  if (!slot.state.compare_exchange_strong(state, TimedSlot::State::kTaken,
                                          std::memory_order_acquire)) {
    lane.short_.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  slot.order = order;
  slot.issuedNs = nowNs();
  if (driver_.load()->eventRecord(slot.start, stream) == 0) return &slot;
  drop(slot);
  return nullptr;
}

void StreamTimer::end(TimedSlot& slot, Stream stream, const nccl::CallNote& note) noexcept {
  if (driver_.load()->eventRecord(slot.end, stream) != 0) return drop(slot);
  slot.time = {note.taskKey, note.callIndex, note.asked, 0, 0};
  slot.state.store(TimedSlot::State::kArmed, std::memory_order_release);
}

void StreamTimer::stop() noexcept {
  stopped_.store(true);
  const int64_t until = nowNs() + kLongestStopNs;
  while (inDriver_.load() && nowNs() < until) nap(kBusyNapNs);
}

void StreamTimer::serve() noexcept {
  pthread_setname_np(pthread_self(), "autoccl-timer");
  int mode = Driver::kCaptureRelaxed;
  bool relaxed = false;
  while (!stopped_.load()) {
    bool busy = false;
    inDriver_.store(true);
    if (!stopped_.load() && driver_.load() != nullptr) {
      if (!relaxed) relaxed = driver_.load()->exchangeCaptureMode(&mode) == 0;
      for (TimedLane& lane : lanes_) busy = visit(lane) || busy;
    }
    inDriver_.store(false);
    nap(busy ? kBusyNapNs : kIdleNapNs);
  }
}

/// True while a call of the lane is under way.
bool StreamTimer::visit(TimedLane& lane) noexcept {
  const std::lock_guard own(lane.mutex_);
  if (lane.context_ == nullptr) return false;
  const Driver& driver = *driver_.load();
  if (driver.contextSetCurrent(lane.context_) != 0) return false;
  if (lane.of_ != nullptr && lane.short_.exchange(false)) makeSlots(lane, 2 * lane.ready_.load());
  const bool busy = collectAll(lane);
  if (lane.of_ == nullptr && !busy) freeEvents(lane);
  driver.contextSetCurrent(nullptr);
  return busy;
}

/// In the order of the calls, since the sequence of calls says where a training step begins.
bool StreamTimer::collectAll(TimedLane& lane) noexcept {
  std::array<TimedSlot*, TimedLane::kSlots> armed{};
  size_t n = 0;
  bool busy = false;
  for (TimedSlot& slot : lane.slots_) {
    const auto state = slot.state.load(std::memory_order_acquire);
    if (state == TimedSlot::State::kArmed) armed[n++] = &slot;
    busy = busy || state == TimedSlot::State::kArmed || state == TimedSlot::State::kTaken;
  }
  std::sort(armed.begin(), armed.begin() + n, [](const TimedSlot* a, const TimedSlot* b) {
    return static_cast<int32_t>(a->order - b->order) < 0;
  });
  // Calls of one stream end in turn, so behind one that has not ended few are asked for nothing.
  size_t waiting = 0;
  for (size_t i = 0; i < n && waiting < kAskedAhead; ++i)
    if (!collect(lane, *armed[i])) ++waiting;
  return busy;
}

void StreamTimer::makeSlots(TimedLane& lane, uint32_t count) noexcept {
  uint32_t ready = lane.ready_.load();
  const auto most = std::min<uint32_t>(count, TimedLane::kSlots);
  while (ready < most && makeEvents(*driver_.load(), lane.slots_[ready])) ++ready;
  lane.ready_.store(ready, std::memory_order_release);
}

bool StreamTimer::makeEvents(const Driver& driver, TimedSlot& slot) noexcept {
  if (driver.eventCreate(&slot.start, 0) != 0) return false;
  if (driver.eventCreate(&slot.end, 0) != 0) {
    driver.eventDestroy(slot.start);
    return false;
  }
  slot.state.store(TimedSlot::State::kFree, std::memory_order_release);
  return true;
}

/// Events belong to a context, so a lane that ended gives its own back.
void StreamTimer::freeEvents(TimedLane& lane) noexcept {
  for (TimedSlot& slot : lane.slots_) {
    auto state = TimedSlot::State::kFree;
    if (!slot.state.compare_exchange_strong(state, TimedSlot::State::kTaken)) continue;
    driver_.load()->eventDestroy(slot.start);
    driver_.load()->eventDestroy(slot.end);
    slot.state.store(TimedSlot::State::kBare);
  }
  lane.ready_.store(0);
  lane.context_ = nullptr;
}

bool StreamTimer::collect(TimedLane& lane, TimedSlot& slot) noexcept {
  const Driver& driver = *driver_.load();
  const int done = driver.eventQuery(slot.end);
  if (done == Driver::kNotReady) return false;
  float milliseconds = 0;
  if (done == 0 && driver.eventElapsedTime(&milliseconds, slot.start, slot.end) == 0 &&
      milliseconds > 0 && lane.of_ != nullptr) {
    slot.time.durationNs = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    slot.time.finishedNs = slot.issuedNs + slot.time.durationNs;
    report_(*lane.of_, slot.time);
  }
  drop(slot);
  return true;
}

}  // namespace autoccl::preload
