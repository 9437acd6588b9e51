// Sessions of ranks that share no memory, as threads of this process over loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "agree/tcp_connection.h"
#include "edge/session/rendezvous.h"
#include "edge/session/session.h"
#include "edge/session/test_relay.h"
#include "edge/session/test_session.h"

namespace autoccl {
namespace {

constexpr int kRanks = 3;

class TcpSession : public SessionSettings {
 protected:
  void TearDown() override {
    ranks_.clear();
    SessionSettings::TearDown();
  }
  void SetUp() override {
    SessionSettings::SetUp();
    leaderPort_ = freePort();
  }
  [[nodiscard]] static uint16_t freePort() {
    std::string fault;
    const int fd = listenOn({htonl(INADDR_LOOPBACK), 0}, fault);
    const uint16_t port = localAddress(fd).port;
    close(fd);
    return port;
  }
  /// The seat of one rank of a communicator that nobody else has; it calls rank 0 at this port.
  [[nodiscard]] TuningSession::Seat seat(int number, uint16_t port) {
    const std::string unique = "tcp session test " + std::to_string(getpid());
    const Rendezvous r = deriveRendezvous(std::as_bytes(std::span(unique)));
    SessionRank& rank = ranks_[static_cast<size_t>(number)];
    TuningSession::Seat seat;
    seat.rank = number;
    seat.nRanks = kRanks;
    seat.name = "test";
    seat.sessionId = r.session;
    seat.key = r.key;
    seat.library = "model 1";
    seat.capabilities = "model";
    seat.link = TuningSession::Tcp{{{"127.0.0.1", port}}};
    seat.joinRule = JoinRule::kOwnDurations;
    seat.setGate = [&rank](CallGate* gate) { rank.gate = gate; };
    seat.spaceFor = smallSpace;
    return seat;
  }
  void open(int number, uint16_t port) {
    ranks_[static_cast<size_t>(number)].session = TuningSession::open(seat(number, port));
  }
  void open(int number) { open(number, leaderPort_); }
  /// Calls until a config other than the default has run.
  [[nodiscard]] bool callUntilChanged(const Task& task) {
    const Config untouched = smallSpace(task).fallback;
    const int64_t deadline = nowNs() + 30'000'000'000;
    while (nowNs() < deadline) {
      if (!callAll(ranks_, task, 10)) return false;
      if (ranks_[0].ran.back() != untouched) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  void expectEqualCalls() const {
    for (const SessionRank& rank : ranks_) EXPECT_EQ(rank.ran, ranks_[0].ran);
  }

  uint16_t leaderPort_ = 0;
  std::vector<SessionRank> ranks_{kRanks};
};

TEST_F(TcpSession, RanksWithoutMemoryOrClockInCommonFindTheBestConfigTogether) {
  for (int r = 0; r < kRanks; ++r) open(r);
  ranks_[1].skewNs = -3'600'000'000'000;
  ranks_[2].skewNs = 86'400'000'000'000;
  ranks_[0].lateUs = 900;  // rank 0 always waits for the others
  EXPECT_TRUE(callUntilSettled(ranks_, sessionTask(kRanks, 1 << 20)));
  expectEqualCalls();
  EXPECT_TRUE(ranLately(ranks_[0], 4));
  EXPECT_EQ(knownHosts(), std::vector<std::string>{"127.0.0.1"});
  for (SessionRank& r : ranks_) r.session.reset();
  const auto tasks = tasksOf("test");
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].config.channels, 4);
  EXPECT_NEAR(tasks[0].defaultUs, modelUs(tasks[0].defaultConfig), 1.0)
      << "the time of the rank that waited for nobody";
}

TEST_F(TcpSession, CallsAreUntouchedUntilTheLastRankHasJoined) {
  open(0);
  open(1);
  const Task task = sessionTask(kRanks, 4096);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(ranks_[0].call(task));
    ASSERT_TRUE(ranks_[1].call(task));
    ASSERT_EQ(ranks_[0].ran.back().channels, 1);
  }
  open(2);
  while (ranks_[2].ran.size() < 2000) ASSERT_TRUE(ranks_[2].call(task));
  EXPECT_TRUE(callUntilSettled(ranks_, task));
  expectEqualCalls();
}

TEST_F(TcpSession, ALinkCutWithAllProcessesAliveLeavesAllUnderOneVersion) {
  Relay relay(leaderPort_);
  for (int r = 0; r < kRanks; ++r) open(r, r == 1 ? relay.port() : leaderPort_);
  const Task task = sessionTask(kRanks, 1 << 20);
  ASSERT_TRUE(callUntilChanged(task)) << "no version was committed";
  relay.cut(true);
  // Whatever was under way is settled while calls go on; then nothing changes any more.
  const int64_t deadline = nowNs() + 4'000'000'000;
  while (nowNs() < deadline) {
    ASSERT_TRUE(callAll(ranks_, task, 20)) << "a rank in doubt found no help";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  expectEqualCalls();
  const Config last = ranks_[0].ran.back();
  ASSERT_TRUE(callAll(ranks_, task, 200));
  for (const SessionRank& rank : ranks_) EXPECT_EQ(rank.ran.back(), last);
  relay.cut(false);
  EXPECT_TRUE(callUntilSettled(ranks_, task)) << "and the search goes on when the link is back";
  expectEqualCalls();
  EXPECT_TRUE(ranLately(ranks_[0], 4));
}

TEST_F(TcpSession, ALinkThatComesAndGoesNeverMakesTwoRanksDiffer) {
  Relay relay(leaderPort_);
  for (int r = 0; r < kRanks; ++r) open(r, r == 1 ? relay.port() : leaderPort_);
  const Task task = sessionTask(kRanks, 1 << 20);
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    relay.cut(random() % 3 == 0);
    ASSERT_TRUE(callAll(ranks_, task, 1 + static_cast<int>(random() % 60)));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
  }
  expectEqualCalls();
}

TEST_F(TcpSession, ARankThatNeverComesEndsTuningAndIsNamed) {
  set("AUTOCCL_INIT_TIMEOUT", "0.3");
  ::testing::internal::CaptureStderr();
  open(0);
  open(1);
  const int64_t deadline = nowNs() + 20'000'000'000;
  while (!(ranks_[0].session->settled() && ranks_[1].session->settled()) && nowNs() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(ranks_[0].call(sessionTask(kRanks, 64)));
  for (SessionRank& r : ranks_) r.session.reset();
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("test is off: rank 2 did not join"), std::string::npos) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

TEST_F(TcpSession, ARankOfAnotherLibraryKeepsTuningOffAndIsNamed) {
  ::testing::internal::CaptureStderr();
  for (int r = 0; r < kRanks; ++r) {
    auto s = seat(r, leaderPort_);
    if (r == 1) s.library = "model 2";
    ranks_[static_cast<size_t>(r)].session = TuningSession::open(std::move(s));
  }
  const int64_t deadline = nowNs() + 20'000'000'000;
  while (!ranks_[2].session->settled() && nowNs() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (SessionRank& r : ranks_) r.session.reset();
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("rank 1 differs in library ('model 2', rank 0 has 'model 1')"),
            std::string::npos)
      << told;
}

}  // namespace
}  // namespace autoccl
