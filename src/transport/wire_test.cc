#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "transport/wire_set.h"

namespace autoccl {
namespace {

// Zeroed memory as ranks would share it.
class Shared {
 public:
  explicit Shared(size_t bytes) : bytes_(bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    base_ = p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
  }
  ~Shared() { munmap(base_, bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  [[nodiscard]] std::byte* get() const { return base_; }

 private:
  std::byte* base_;
  size_t bytes_;
};

constexpr WireGeometry kSmall{2, 4, 64 << 10, 8 << 10};

struct Pair {
  Shared memory{WireSet::requiredBytes(kSmall)};
  WireSet a{memory.get(), kSmall, 0};
  WireSet b{memory.get(), kSmall, 1};
};

WaitRules rules(WaitPolicy policy) {
  WaitRules r;
  r.policy = policy;
  r.spins = 50;
  return r;
}

size_t lengthOf(uint32_t message, size_t most) {
  return 1 + message * 7919 % most;
}
std::byte byteOf(uint32_t message, size_t i) {
  return std::byte(message * 31 + i * 7);
}

void sendAll(WireSet& set, Wire& wire, int lane, uint32_t messages, size_t most,
             const WaitRules& how) {
  for (uint32_t m = 0; m < messages; ++m) {
    ASSERT_TRUE(set.bells.waitUntil(0, lane, how, [&] { return wire.canSend(1, lane); }));
    std::byte* slot = wire.slot(1, lane);
    for (size_t i = 0; i < lengthOf(m, most); ++i) slot[i] = byteOf(m, i);
    wire.post(1, lane, lengthOf(m, most));
  }
}

void receiveAll(WireSet& set, Wire& wire, int lane, uint32_t messages, size_t most,
                const WaitRules& how) {
  for (uint32_t m = 0; m < messages; ++m) {
    const size_t bytes = lengthOf(m, most);
    ASSERT_TRUE(set.bells.waitUntil(1, lane, how, [&] { return wire.canReceive(0, lane, bytes); }));
    const Incoming in = wire.peek(0, lane, bytes);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(in.first[i], byteOf(m, i)) << m << " " << i;
    wire.release(0, lane);
  }
}

void exchange(Pair& p, Wire& from, Wire& to, WireLayout layout, uint32_t messages,
              WaitPolicy policy) {
  const WaitRules how = rules(policy);
  ASSERT_TRUE(from.open(layout, how));
  ASSERT_TRUE(to.open(layout, how));
  std::vector<std::thread> threads;
  for (int lane = 0; lane < layout.lanes; ++lane) {
    threads.emplace_back([&, lane] { sendAll(p.a, from, lane, messages, layout.slotBytes, how); });
    threads.emplace_back([&, lane] { receiveAll(p.b, to, lane, messages, layout.slotBytes, how); });
  }
  for (auto& t : threads) t.join();
}

TEST(SlotWire, CarriesEveryMessageInOrderInEveryLayoutAndPolicy) {
  Pair p;
  for (const WaitPolicy policy : {WaitPolicy::kYield, WaitPolicy::kFutex, WaitPolicy::kSpin})
    for (const WireLayout layout :
         {WireLayout{1, 1, 16 << 10}, WireLayout{4, 1, 4 << 10}, WireLayout{2, 1, 64}}) {
      ASSERT_TRUE(SlotWire::fits(kSmall, layout));
      exchange(p, p.a.slots, p.b.slots, layout, policy == WaitPolicy::kSpin ? 20 : 200, policy);
    }
  EXPECT_FALSE(SlotWire::fits(kSmall, {4, 1, 8 << 10}));
  EXPECT_FALSE(SlotWire::fits(kSmall, {5, 1, 64}));
}

TEST(LlWire, CarriesEveryMessageInOrderInEveryLayoutAndPolicy) {
  Pair p;
  for (const WaitPolicy policy : {WaitPolicy::kYield, WaitPolicy::kFutex, WaitPolicy::kSpin})
    for (const WireLayout layout :
         {WireLayout{1, 1, 1856}, WireLayout{4, 1, 960}, WireLayout{2, 1, 64}}) {
      ASSERT_TRUE(LlWire::fits(kSmall, layout));
      exchange(p, p.a.ll, p.b.ll, layout, policy == WaitPolicy::kSpin ? 20 : 200, policy);
    }
  EXPECT_FALSE(LlWire::fits(kSmall, {1, 1, 2048}));
}

TEST(LlWire, AFlagThatStartsAgainIsNotTakenForAnOldOne) {
  for (const uint64_t before : {uint64_t{0xffffffff} - 10, 3 * uint64_t{0xffffffff} - 3}) {
    Shared memory(WireSet::requiredBytes(kSmall));
    const Doorbells bells(memory.get(), kSmall.lanes);
    std::byte* area = memory.get() + Doorbells::requiredBytes(2, kSmall.lanes);
    LlWire a(area, kSmall, 0, bells, before), b(area, kSmall, 1, bells, before);
    const WaitRules how = rules(WaitPolicy::kYield);
    ASSERT_TRUE(a.open({1, 1, 1856}, how) && b.open({1, 1, 1856}, how));
    for (uint32_t m = 0; m < 40; ++m) {
      const size_t bytes = m % 7 ? 60 : 1800;  // short ones leave old lines behind them
      EXPECT_FALSE(b.canReceive(0, 0, bytes)) << m;
      ASSERT_TRUE(a.canSend(1, 0));
      std::memset(a.slot(1, 0), int(m), bytes);
      a.post(1, 0, bytes);
      ASSERT_TRUE(b.canReceive(0, 0, bytes));
      EXPECT_EQ(b.peek(0, 0, bytes).first[bytes - 1], std::byte(m));
      b.release(0, 0);
    }
  }
}

TEST(LlWire, NumbersThatStartAgainMeetNoOldLineOfAnotherLayout) {
  Shared memory(WireSet::requiredBytes(kSmall));
  const Doorbells bells(memory.get(), kSmall.lanes);
  std::byte* area = memory.get() + Doorbells::requiredBytes(2, kSmall.lanes);
  const WaitRules how = rules(WaitPolicy::kYield);
  const auto send = [&](LlWire& a, LlWire& b, size_t bytes, int messages) {
    for (int m = 0; m < messages; ++m) {
      EXPECT_FALSE(b.canReceive(0, 0, bytes)) << m;
      ASSERT_TRUE(a.canSend(1, 0));
      std::memset(a.slot(1, 0), m, bytes);
      a.post(1, 0, bytes);
      ASSERT_TRUE(b.canReceive(0, 0, bytes));
      b.release(0, 0);
    }
  };
  LlWire a(area, kSmall, 0, bells), b(area, kSmall, 1, bells);
  ASSERT_TRUE(a.open({1, 1, 1856}, how) && b.open({1, 1, 1856}, how));
  send(a, b, 1800, 4);  // lines numbered 1 … 4 fill the lane
  const uint64_t nearTheEnd = uint64_t{0xffffffff} - 2;
  LlWire later(area, kSmall, 0, bells, nearTheEnd), peer(area, kSmall, 1, bells, nearTheEnd);
  ASSERT_TRUE(later.open({1, 1, 300}, how) && peer.open({1, 1, 300}, how));
  send(later, peer, 300, 12);
}

TEST(SlotWire, AFullQueueRefusesAndAnEmptyOneHasNothing) {
  Pair p;
  const WaitRules how = rules(WaitPolicy::kYield);
  ASSERT_TRUE(p.a.slots.open({1, 1, 64}, how) && p.b.slots.open({1, 1, 64}, how));
  for (uint32_t i = 0; i < Wire::kSlots; ++i) {
    ASSERT_TRUE(p.a.slots.canSend(1, 0));
    p.a.slots.post(1, 0, 8);
  }
  EXPECT_FALSE(p.a.slots.canSend(1, 0));
  EXPECT_FALSE(p.a.slots.idle(1, 0));
  EXPECT_FALSE(p.a.slots.canReceive(1, 0, 8));
  for (uint32_t i = 0; i < Wire::kSlots; ++i) {
    ASSERT_TRUE(p.b.slots.canReceive(0, 0, 8));
    p.b.slots.release(0, 0);
  }
  EXPECT_FALSE(p.b.slots.canReceive(0, 0, 8));
  EXPECT_TRUE(p.a.slots.idle(1, 0));
}

TEST(SlotWire, PublishesWhatLiesInAUserBufferByAddressOrByCma) {
  Pair p;
  std::vector<std::byte> send(300, std::byte{5}), recv(300, std::byte{6}), got(100);
  const PeerBuffers peers[2] = {{send.data(), recv.data(), getpid()}, {}};
  const WaitRules how = rules(WaitPolicy::kYield);
  ASSERT_TRUE(p.a.slots.open({1, 1, 128}, how) && p.b.slots.open({1, 1, 128}, how));
  EXPECT_FALSE(p.a.slots.publishes());
  for (const auto mode : {SlotWire::Mode::kZero, SlotWire::Mode::kCma}) {
    p.a.slots.setMode(mode, peers);
    p.b.slots.setMode(mode, peers);
    ASSERT_TRUE(p.a.slots.publishes());
    p.a.slots.publish(1, 0, true, 100);
    p.a.slots.publish(1, 0, false, 200);
    std::memset(p.a.slots.slot(1, 0), 7, 100);
    p.a.slots.post(1, 0, 100);
    for (const std::byte want : {std::byte{5}, std::byte{6}, std::byte{7}}) {
      const Incoming in = p.b.slots.peek(0, 0, 100);
      if (in.where == Incoming::Where::kRemote)
        ASSERT_TRUE(readRemote(in.pid, in.first, got.data(), 100));
      else
        std::memcpy(got.data(), in.first, 100);
      EXPECT_EQ(got, std::vector<std::byte>(100, want));
      EXPECT_EQ(in.where == Incoming::Where::kPacked, want == std::byte{7});
      p.b.slots.release(0, 0);
    }
  }
  EXPECT_FALSE(readRemote(getpid(), nullptr, got.data(), 1));
}

TEST(Wire, AMovedEpochEndsEveryWait) {
  for (const WaitPolicy policy : {WaitPolicy::kSpin, WaitPolicy::kYield, WaitPolicy::kFutex}) {
    Pair p;
    std::atomic<uint32_t> epoch{1};
    WaitRules how = rules(policy);
    how.epoch = &epoch;
    how.expectedEpoch = 1;
    ASSERT_TRUE(p.a.slots.open({1, 1, 64}, how));
    p.a.slots.post(1, 0, 8);  // never received
    std::thread aborter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      epoch = 2;
    });
    EXPECT_FALSE(p.a.bells.waitUntil(0, 0, how, [&] { return p.a.slots.canReceive(1, 0, 8); }));
    EXPECT_FALSE(p.a.slots.open({1, 1, 128}, how));  // waits for the queue to run dry
    aborter.join();
  }
}

TEST(Doorbells, WakeASleeperThatHasJustLooked) {
  Shared memory(Doorbells::requiredBytes(2, 1));
  const Doorbells bells(memory.get(), 1);
  WaitRules how = rules(WaitPolicy::kFutex);
  how.spins = 0;
  std::atomic<uint32_t> ball{0};
  constexpr uint32_t kVolleys = 3000;
  const auto play = [&](int me) {
    for (uint32_t v = uint32_t(me); v < kVolleys; v += 2) {
      ASSERT_TRUE(bells.waitUntil(me, 0, how, [&] { return ball.load() == v; }));
      ball.store(v + 1);
      bells.ring(1 - me, 0);
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(ball.load(), kVolleys);
}

}  // namespace
}  // namespace autoccl
