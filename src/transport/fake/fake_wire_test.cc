#include "transport/fake/fake_wire.h"

#include <gtest/gtest.h>

namespace autoccl {
namespace {

TEST(FakeWire, KeepsOrderPerPairAndRailAndCounts) {
  FakeWire wire(3, 2, 2);
  EXPECT_FALSE(wire.canReceive(1, 0, 0));
  wire.send(0, 1, 0, {{7, 8}, 4});
  wire.send(0, 1, 0, {{9}, 0});
  EXPECT_FALSE(wire.canSend(0, 1, 0));
  EXPECT_TRUE(wire.canSend(0, 1, 1));
  EXPECT_TRUE(wire.canSend(0, 2, 0));
  const FakeMessage first = wire.receive(1, 0, 0);
  EXPECT_EQ(first.words, (std::vector<uint64_t>{7, 8}));
  EXPECT_EQ(first.depth, 5);
  EXPECT_FALSE(wire.empty());
  EXPECT_EQ(wire.receive(1, 0, 0).words, (std::vector<uint64_t>{9}));
  EXPECT_TRUE(wire.empty());
  EXPECT_EQ(wire.tally(0).sentWords, 3u);
  EXPECT_EQ(wire.tally(0).sentMessages, 2u);
  EXPECT_EQ(wire.tally(1).receivedWords, 3u);
  EXPECT_EQ(wire.tally(1).depth, 5);
  EXPECT_EQ(wire.tally(2).receivedMessages, 0u);
}

}  // namespace
}  // namespace autoccl
