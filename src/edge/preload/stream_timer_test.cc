#include "edge/preload/stream_timer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace autoccl::preload {
namespace {

/// A driver whose events are done when the test says so.
struct FakeEvent {
  std::atomic<int> recorded{0};
};
std::atomic<bool> done{false};
std::atomic<bool> recordFails{false};
std::atomic<int> liveEvents{0};
std::atomic<int> captureMode{0};
thread_local int recordsOfThisThread = 0;
int context = 0;

const Driver kDriver{
    .contextGetCurrent =
        [](void** c) {
          *c = &context;
          return 0;
        },
    .contextSetCurrent = [](void*) { return 0; },
    .contextGetDevice = [](int* device) { return *device = 0; },
    .exchangeCaptureMode =
        [](int* mode) {
          captureMode.store(*mode);
          return 0;
        },
    .streamIsCapturing = [](void*, int* status) { return *status = 0; },
    .eventCreate =
        [](void** event, unsigned) {
          *event = new FakeEvent;
          ++liveEvents;
          return 0;
        },
    .eventDestroy =
        [](void* event) {
          delete static_cast<FakeEvent*>(event);
          --liveEvents;
          return 0;
        },
    .eventRecord =
        [](void* event, void*) {
          if (recordFails.load()) return 1;
          static_cast<FakeEvent*>(event)->recorded.store(1);
          ++recordsOfThisThread;
          return 0;
        },
    .eventQuery = [](void*) { return done.load() ? 0 : Driver::kNotReady; },
    .eventElapsedTime =
        [](float* milliseconds, void*, void*) {
          *milliseconds = 0.25F;
          return 0;
        },
};

std::atomic<int> reports{0};
nccl::StreamTime lastTime;               // read after `reports` has grown
std::vector<nccl::StreamTime> reported;  // likewise
void report(nccl::KnownCommunicator&, const nccl::StreamTime& time) noexcept {
  lastTime = time;
  reported.push_back(time);
  reports.fetch_add(1);
}

template <class Condition>
bool comes(Condition condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

class Timer : public ::testing::Test {
 protected:
  void SetUp() override {
    done.store(false);
    recordFails.store(false);
    reports.store(0);
    liveEvents.store(0);
    note_.taskKey = 11;
    note_.callIndex = 5;
    note_.asked.channels = 4;
  }
  void TearDown() override { timer_->stop(); }

  TimedSlot* beginSoon(TimedLane& lane) {
    TimedSlot* slot = nullptr;
    comes([&] { return (slot = timer_->begin(lane, nullptr)) != nullptr; });
    return slot;
  }
  void endOne(TimedLane& lane) {
    TimedSlot* slot = beginSoon(lane);
    ASSERT_NE(slot, nullptr);
    timer_->end(*slot, nullptr, note_);
  }

  /// Never destroyed: its thread is not joined, as in a real process.
  static StreamTimer* makeTimer() {
    static auto* const all = new std::vector<std::unique_ptr<StreamTimer>>;
    all->push_back(std::make_unique<StreamTimer>(&report, []() noexcept { return &kDriver; }));
    return all->back().get();
  }

  StreamTimer* timer_ = makeTimer();
  nccl::KnownCommunicator known_;
  nccl::CallNote note_;
};

TEST_F(Timer, ReportsTheTimeBetweenBothEventsOnceTheCallIsDone) {
  TimedLane* lane = timer_->open(known_);
  ASSERT_NE(lane, nullptr);
  endOne(*lane);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(reports.load(), 0) << "the call was not done yet";
  done.store(true);
  ASSERT_TRUE(comes([] { return reports.load() == 1; }));
  EXPECT_EQ(lastTime.durationNs, 250'000);
  EXPECT_EQ(lastTime.taskKey, 11u);
  EXPECT_EQ(lastTime.callIndex, 5u);
  EXPECT_EQ(lastTime.asked.channels, 4);
  EXPECT_EQ(captureMode.load(), Driver::kCaptureRelaxed);
}

TEST_F(Timer, ACallThatFindsEverySlotTakenGoesUntimed) {
  TimedLane* lane = timer_->open(known_);
  ASSERT_NE(lane, nullptr);
  for (size_t i = 0; i < TimedLane::kSlots; ++i) endOne(*lane);
  EXPECT_EQ(timer_->begin(*lane, nullptr), nullptr);
  done.store(true);
  EXPECT_TRUE(comes([] { return reports.load() == int{TimedLane::kSlots}; }));
  EXPECT_NE(beginSoon(*lane), nullptr);
}

TEST_F(Timer, TimesAreReportedInTheOrderOfTheCalls) {
  TimedLane* lane = timer_->open(known_);
  ASSERT_NE(lane, nullptr);
  done.store(true);
  for (int i = 0; i < 10; ++i) endOne(*lane);  // the ring's next slots straddle its end
  ASSERT_TRUE(comes([] { return reports.load() == 10; }));
  done.store(false);
  reported.clear();
  for (uint64_t i = 0; i < TimedLane::kSlots; ++i) {
    note_.callIndex = i;
    endOne(*lane);
  }
  done.store(true);
  ASSERT_TRUE(comes([] { return reports.load() == 10 + int{TimedLane::kSlots}; }));
  for (size_t i = 0; i < TimedLane::kSlots; ++i) EXPECT_EQ(reported[i].callIndex, i);
  for (size_t i = 1; i < TimedLane::kSlots; ++i)
    EXPECT_GE(reported[i].finishedNs, reported[i - 1].finishedNs);
}

TEST_F(Timer, NothingIsReportedOfACommunicatorThatEnded) {
  TimedLane* lane = timer_->open(known_);
  ASSERT_NE(lane, nullptr);
  endOne(*lane);
  timer_->close(*lane);
  done.store(true);
  ASSERT_TRUE(comes([] { return liveEvents.load() == 0; })) << "its events are given back";
  EXPECT_EQ(reports.load(), 0);
  EXPECT_EQ(timer_->begin(*lane, nullptr), nullptr);
}

TEST_F(Timer, ADriverThatRefusesLeavesTheCallUntimed) {
  TimedLane* lane = timer_->open(known_);
  ASSERT_NE(lane, nullptr);
  TimedSlot* slot = beginSoon(*lane);
  ASSERT_NE(slot, nullptr);
  recordFails.store(true);
  timer_->end(*slot, nullptr, note_);
  EXPECT_EQ(timer_->begin(*lane, nullptr), nullptr);
  done.store(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(reports.load(), 0);
}

TEST_F(Timer, WithoutADriverThereIsNoLane) {
  StreamTimer timer(&report, []() noexcept -> const Driver* { return nullptr; });
  EXPECT_EQ(timer.open(known_), nullptr);
}

TEST_F(Timer, LanesAreBounded) {
  std::vector<nccl::KnownCommunicator> many(StreamTimer::kLanes + 1);
  for (size_t i = 0; i < StreamTimer::kLanes; ++i) EXPECT_NE(timer_->open(many[i]), nullptr) << i;
  EXPECT_EQ(timer_->open(many.back()), nullptr);
}

TEST_F(Timer, AfterStopTheDriverIsLeftAlone) {
  TimedLane* lane = timer_->open(known_);
  ASSERT_NE(lane, nullptr);
  endOne(*lane);
  timer_->stop();
  done.store(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(reports.load(), 0);
}

}  // namespace
}  // namespace autoccl::preload
