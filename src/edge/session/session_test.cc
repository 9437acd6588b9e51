// Sessions of two ranks as threads over plain memory, with an engine whose times are arithmetic.
#include "edge/session/session.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "store/file.h"
#include "store/run_record.h"

namespace autoccl {
namespace {

constexpr int kRanks = 2;

/// Best at 4 channels; the default (1 channel) takes twice as long.
double modelUs(const Config& c) {
  const double nc = c.channels;
  return 50 + 100 / nc + 6 * nc;
}

Space smallSpace(const Task& task) {
  Space space;
  space.task = task;
  space.fallback = Config{Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, 1, 1, 65536};
  Subspace s;
  s.algorithm = Algorithm::kRing;
  s.protocol = Protocol::kSimple;
  s.transport = Transport::kShm;
  s.channels = {1, 2, 4, 8, 16};
  s.threads = {1};
  s.chunks = {65536};
  space.subspaces.push_back(s);
  return space;
}

/// One rank: a gate, and calls whose stamps follow the model.
struct Rank {
  std::unique_ptr<TuningSession> session;
  CallGate* gate = nullptr;
  std::vector<Config> ran;
  bool stopped = false;

  void call(const Task& task) {
    Config config = smallSpace(task).fallback;
    const auto ticket = gate->take(task, config);
    ASSERT_TRUE(gate->resolve(ticket, config));
    CallRecord record;
    record.taskKey = keyOf(task);
    record.callIndex = ticket.index;
    record.asked = record.inEffect = config;
    record.arrivedNs = nowNs();
    record.finishedNs = record.arrivedNs + static_cast<int64_t>(modelUs(config) * 1e3);
    gate->report(record);
    ran.push_back(config);
  }
};

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("autoccl-session-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    setenv("AUTOCCL_RESULT", (folder_ / "record.json").c_str(), 1);
    setenv("AUTOCCL_JOURNAL", (folder_ / "journal").c_str(), 1);
    setenv("AUTOCCL_BUDGET", "100", 1);
    bytes_ = TuningSession::sharedBytes(kRanks);
    area_ = static_cast<std::byte*>(std::aligned_alloc(64, (bytes_ + 63) / 64 * 64));
    std::memset(area_, 0, bytes_);
  }
  void TearDown() override {
    std::free(area_);
    std::filesystem::remove_all(folder_);
    for (const char* name : {"AUTOCCL_RESULT", "AUTOCCL_JOURNAL", "AUTOCCL_BUDGET"}) unsetenv(name);
  }
  void open(Rank& rank, int number) const {
    TuningSession::Seat seat;
    seat.rank = number;
    seat.nRanks = kRanks;
    seat.name = "test";
    seat.sessionId = 99;
    seat.capabilities = "model";
    seat.area = {area_, bytes_};
    seat.setGate = [&rank](CallGate* gate) { rank.gate = gate; };
    seat.spaceFor = smallSpace;
    rank.session = TuningSession::open(std::move(seat));
  }

  std::filesystem::path folder_;
  size_t bytes_ = 0;
  std::byte* area_ = nullptr;
};

TEST_F(SessionTest, TwoRanksFindTheBestConfigTogetherAndNeverDiffer) {
  Rank ranks[kRanks];
  for (int r = 0; r < kRanks; ++r) open(ranks[r], r);
  Task task{0, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, kRanks, 1 << 20};
  const int64_t deadline = nowNs() + 60'000'000'000;
  int calls = 0;
  // The winner's table begins a few calls after the leader has settled.
  int settledRounds = 0;  // a paired check of the default may come between
  while (settledRounds < 10 && nowNs() < deadline) {
    // Both ranks call in lock-step from threads of their own, as a fence may make one wait.
    std::thread other([&] {
      for (int i = 0; i < 50; ++i) ranks[1].call(task);
    });
    for (int i = 0; i < 50; ++i) ranks[0].call(task);
    other.join();
    calls += 50;
    settledRounds += ranks[0].session->settled() ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(settledRounds, 10) << calls << " calls";
  EXPECT_EQ(ranks[0].ran, ranks[1].ran);
  EXPECT_EQ(ranks[0].ran.back().channels, 4);
  for (Rank& r : ranks) r.session.reset();
  const auto text = readWholeFile((folder_ / "record.json").string());
  ASSERT_TRUE(text.has_value());
  const RunRecord record = readRunRecord(*text, "record.json");
  EXPECT_EQ(record.state, "finished");
  ASSERT_EQ(record.tasks.size(), 1u);
  EXPECT_EQ(record.tasks[0].config.channels, 4);
  EXPECT_GT(record.tasks[0].gainLow, 1.0);
}

TEST_F(SessionTest, EndingInTheMiddleOfASearchLeavesNobodyWaiting) {
  Rank ranks[kRanks];
  for (int r = 0; r < kRanks; ++r) open(ranks[r], r);
  Task task{0, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, kRanks, 4096};
  std::thread other([&] {
    for (int i = 0; i < 200; ++i) ranks[1].call(task);
  });
  for (int i = 0; i < 200; ++i) ranks[0].call(task);
  other.join();
  EXPECT_EQ(ranks[0].ran, ranks[1].ran);
  for (Rank& r : ranks) r.session.reset();
}

}  // namespace
}  // namespace autoccl
