#include "edge/session/session_gate.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "agree/link.h"
#include "base/testing/allocations.h"
#include "edge/session/session_memory.h"

namespace autoccl {
namespace {

struct Gate {
  SessionMemory memory{std::nullopt, 1};
  SampleBoard board{memory.board(), 1};
  Agreement agreement{{}, nullptr};
  FlightRecorder recorder;
  SessionGate gate{agreement, board, recorder, 0};
};

Task task(uint64_t bytes) {
  return {0, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 1, bytes};
}

CallRecord recordOf(uint64_t index) {
  CallRecord r;
  r.taskKey = 7;
  r.callIndex = index;
  r.arrivedNs = 10;
  r.finishedNs = 20;
  return r;
}

TEST(SessionGate, AllocatesNothingInACall) {
  Gate g;
  const uint64_t before = testing::allocationsOfThisThread();
  for (uint64_t i = 0; i < 3 * RankBoard::kSamples; ++i) {  // past the end of the ring
    Config config;
    const auto ticket = g.gate.take(task(64), config);
    (void)g.gate.resolve(ticket, config);
    g.gate.report(recordOf(ticket.index));
  }
  EXPECT_EQ(testing::allocationsOfThisThread(), before);
  EXPECT_EQ(g.board.of(0).samples.dropped(), 2 * RankBoard::kSamples);
}

TEST(SessionGate, TakesReportsFromAnyThreadAndCountsThoseItLoses) {
  Gate g;
  constexpr int kThreads = 4, kReports = 400;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kReports; ++i) g.gate.report(recordOf(i));
    });
  for (auto& thread : threads) thread.join();
  CallSample sample;
  uint64_t got = 0;
  for (; g.board.of(0).samples.pop(sample); ++got) EXPECT_EQ(sample.finishedNs, 20);
  EXPECT_EQ(got + g.board.of(0).lost, uint64_t{kThreads} * kReports);
  EXPECT_EQ(static_cast<uint64_t>(g.board.of(0).calls.load()), got);
}

TEST(SessionGate, TakesTicketsOfSeveralThreadsInTheOrderTheyArePutIn) {
  Gate g;
  std::mutex issuing;  // as an engine has it
  std::vector<uint64_t> indices;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        CallGate::Ticket ticket;
        {
          const std::lock_guard lock(issuing);
          ticket = g.gate.take(task(64), {});
          indices.push_back(ticket.index);
        }
        Config config;
        EXPECT_TRUE(g.gate.resolve(ticket, config));
      }
    });
  for (auto& thread : threads) thread.join();
  for (uint64_t i = 0; i < indices.size(); ++i) EXPECT_EQ(indices[i], i);
}

TEST(SessionGate, SkipsCallsByTheMaskAndNoOthers) {
  Gate g;
  g.board.setSkipMask(3);
  for (uint64_t i = 0; i < 16; ++i) g.gate.report(recordOf(i));
  CallSample sample;
  std::vector<uint64_t> got;
  while (g.board.of(0).samples.pop(sample)) got.push_back(sample.callIndex);
  EXPECT_EQ(got, (std::vector<uint64_t>{0, 4, 8, 12}));
}

}  // namespace
}  // namespace autoccl
