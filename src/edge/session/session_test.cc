// Sessions of ranks as threads over plain memory.
#include "edge/session/session.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "edge/session/test_session.h"

namespace autoccl {
namespace {

constexpr int kRanks = 2;

class SessionTest : public SessionSettings {
 protected:
  void SetUp() override {
    SessionSettings::SetUp();
    bytes_ = TuningSession::sharedBytes(kRanks);
    area_ = static_cast<std::byte*>(std::aligned_alloc(64, (bytes_ + 63) / 64 * 64));
    std::memset(area_, 0, bytes_);
    for (int r = 0; r < kRanks; ++r) open(r);
  }
  void TearDown() override {
    ranks_.clear();
    std::free(area_);
    SessionSettings::TearDown();
  }
  void open(int number) {
    SessionRank& rank = ranks_[static_cast<size_t>(number)];
    TuningSession::Seat seat;
    seat.rank = number;
    seat.nRanks = kRanks;
    seat.name = "shared";
    seat.sessionId = 99;
    seat.capabilities = "model";
    seat.link = TuningSession::SharedMemory{{area_, bytes_}};
    seat.setGate = [&rank](CallGate* gate) { rank.gate = gate; };
    seat.spaceFor = smallSpace;
    rank.session = TuningSession::open(std::move(seat));
  }

  std::vector<SessionRank> ranks_{kRanks};
  size_t bytes_ = 0;
  std::byte* area_ = nullptr;
};

TEST_F(SessionTest, TwoRanksFindTheBestConfigTogetherAndNeverDiffer) {
  EXPECT_TRUE(callUntilSettled(ranks_, sessionTask(kRanks, 1 << 20)));
  EXPECT_EQ(ranks_[0].ran, ranks_[1].ran);
  EXPECT_TRUE(ranLately(ranks_[0], 4));
  for (SessionRank& r : ranks_) r.session.reset();
  EXPECT_EQ(record().state, "finished");
  const auto tasks = tasksOf("shared");
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].config.channels, 4);
  EXPECT_GT(tasks[0].gainLow, 1.0);
}

TEST_F(SessionTest, ATaskThatTheLeaderHasNotMetYetCountsAsSearching) {
  EXPECT_FALSE(ranks_[0].session->settled()) << "nothing was called yet";
  EXPECT_TRUE(callUntilSettled(ranks_, sessionTask(kRanks, 1 << 20)));
  for (int i = 1; i <= 20; ++i) {
    EXPECT_TRUE(callAll(ranks_, sessionTask(kRanks, (1 << 20) + 64 * i), 1));
    for (const SessionRank& r : ranks_) EXPECT_FALSE(r.session->settled());
  }
  for (SessionRank& r : ranks_) r.session.reset();
}

TEST_F(SessionTest, EndingInTheMiddleOfASearchLeavesNobodyWaiting) {
  EXPECT_TRUE(callAll(ranks_, sessionTask(kRanks, 4096), 200));
  EXPECT_EQ(ranks_[0].ran, ranks_[1].ran);
  for (SessionRank& r : ranks_) r.session.reset();
}

}  // namespace
}  // namespace autoccl
