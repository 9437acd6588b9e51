#include "edge/session/sample_links.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "edge/session/session_memory.h"
#include "edge/session/test_relay.h"

namespace autoccl {
namespace {

/// A rank's links and the board behind them.
struct End {
  End(int rank, uint16_t port)
      : board(memory.board(), 2),
        links(std::make_unique<SampleLinks>(optionsOf(rank, port), board)) {}
  static TcpLinks::Options optionsOf(int rank, uint16_t port) {
    return {rank, 2, 5, MacKey{1}, {{"127.0.0.1", port}}};
  }
  void step() {
    links->poll(nowNs(), events);
    links->pump();
  }

  SessionMemory memory{std::nullopt, 2};
  SampleBoard board;
  std::unique_ptr<SampleLinks> links;
  std::vector<LinkEvent> events;
};

bool stepUntil(const std::vector<End*>& ends, const std::function<bool()>& holds) {
  for (const int64_t deadline = nowNs() + 10'000'000'000; nowNs() < deadline;) {
    for (End* end : ends) end->step();
    if (holds()) return true;
  }
  return false;
}

uint16_t freePort() {
  std::string fault;
  const int fd = listenOn({htonl(INADDR_LOOPBACK), 0}, fault);
  const uint16_t port = localAddress(fd).port;
  close(fd);
  return port;
}

/// What the leader's board has of rank 1, taken off it.
uint64_t drain(End& leader, uint64_t& sum) {
  uint64_t got = 0;
  for (CallSample sample; leader.board.of(1).samples.pop(sample); ++got) sum += sample.callIndex;
  return got;
}

TEST(SampleLinks, BringAWorkersSamplesAndSumsToTheLeadersBoard) {
  const uint16_t port = freePort();
  End leader(0, port), worker(1, port);
  worker.board.of(1).exposedNs = 77;
  worker.board.of(1).calls = 1200;
  for (uint64_t i = 0; i < 1200; ++i)
    worker.board.of(1).samples.push({7, i, {}, 1, 2, 0, CallClock::kEngine});
  uint64_t got = 0, sum = 0;
  ASSERT_TRUE(stepUntil({&leader, &worker}, [&] { return (got += drain(leader, sum)) == 1200; }))
      << got;
  EXPECT_EQ(sum, uint64_t{1199} * 600);
  EXPECT_EQ(leader.board.of(1).exposedNs, 77);
  EXPECT_EQ(leader.board.of(1).calls, 1200);
  EXPECT_EQ(leader.board.of(1).lost, 0u);
  for (const End* end : {&leader, &worker})
    for (const LinkEvent& event : end->events)
      EXPECT_NE(event.kind, LinkEvent::Kind::kMessage) << "the agreement sees none of them";
}

TEST(SampleLinks, TellWorkersWhatTheLeaderDecidesAndTellItAgainOnANewConnection) {
  const uint16_t port = freePort();
  End leader(0, port);
  Relay relay(port);
  leader.board.setSkipMask(15);
  leader.board.setReady();
  End worker(1, relay.port());
  EXPECT_TRUE(stepUntil({&leader, &worker}, [&] { return worker.board.ready(); }));
  EXPECT_EQ(worker.board.skipMask(), 15u);
  EXPECT_EQ(worker.board.settledTasks(), 0u);
  leader.board.setSettledTasks(3);
  EXPECT_TRUE(stepUntil({&leader, &worker}, [&] { return worker.board.settledTasks() == 3; }));
  relay.cut(true);
  EXPECT_TRUE(stepUntil({&leader, &worker}, [&] {
    return !worker.events.empty() && worker.events.back().kind == LinkEvent::Kind::kDown;
  }));
  worker.board.setSkipMask(0);
  relay.cut(false);
  EXPECT_TRUE(stepUntil({&leader, &worker}, [&] { return worker.board.skipMask() == 15u; }));
}

TEST(SampleLinks, CountWhatARingCannotHoldAndWhatALostConnectionSwallows) {
  const uint16_t port = freePort();
  End leader(0, port), worker(1, port);
  Relay relay(port);
  worker.links = std::make_unique<SampleLinks>(End::optionsOf(1, relay.port()), worker.board);
  auto& ring = worker.board.of(1).samples;
  const uint64_t full = RankBoard::kSamples;
  for (uint64_t i = 0; i < full + 100; ++i) ring.push({7, i, {}, 1, 2, 0, CallClock::kEngine});
  uint64_t got = 0, sum = 0, put = full + 100;
  ASSERT_TRUE(stepUntil({&leader, &worker}, [&] { return (got += drain(leader, sum)) == full; }));
  EXPECT_EQ(leader.board.of(1).lost, 100u);
  // Cut while the worker sends: it goes on sending until it notices.
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 50; ++i, ++put) ring.push({7, put, {}, 1, 2, 0, CallClock::kEngine});
    worker.step();
    relay.cut(round % 2 == 0);
    if (round % 3 == 0) leader.step();
    got += drain(leader, sum);
  }
  relay.cut(false);
  ASSERT_TRUE(stepUntil({&leader, &worker},
                        [&] {
                          ring.push({7, put++, {}, 1, 2, 0, CallClock::kEngine});
                          got += drain(leader, sum);
                          return got + leader.board.of(1).lost + 60 > put &&
                                 leader.board.of(1).lost > 0;
                        }))
      << got << " came, " << leader.board.of(1).lost << " counted as lost, of " << put;
  // What is neither here nor counted stands in the ring or on the wire.
  EXPECT_LE(got + leader.board.of(1).lost, put);
}

}  // namespace
}  // namespace autoccl
