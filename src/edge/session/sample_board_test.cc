#include "edge/session/sample_board.h"

#include <gtest/gtest.h>

namespace autoccl {
namespace {

CallSample stamp(uint64_t index, int64_t arrived, int64_t finished) {
  CallSample s;
  s.taskKey = 7;
  s.callIndex = index;
  s.arrivedNs = arrived;
  s.finishedNs = finished;
  return s;
}

TEST(SampleJoiner, TimeIsLastFinishMinusLastArrival) {
  SampleJoiner joiner(2);
  joiner.put(stamp(0, 1000, 9000));
  EXPECT_TRUE(joiner.take().empty());
  joiner.put(stamp(0, 4000, 8000));
  const auto calls = joiner.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_DOUBLE_EQ(calls[0].us, 5.0);
  EXPECT_FALSE(calls[0].failed);
}

TEST(SampleJoiner, RanksThatRanDifferentConfigsMakeAFailedSample) {
  SampleJoiner joiner(2);
  CallSample a = stamp(3, 0, 10), b = stamp(3, 0, 10);
  b.inEffect.channels = 2;
  joiner.put(a);
  joiner.put(b);
  const auto calls = joiner.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(calls[0].failed);
}

TEST(SampleJoiner, ACallThatEndsBeforeItBeginsIsDiscardedAndCounted) {
  SampleJoiner joiner(2);
  joiner.put(stamp(0, 10, 20));
  joiner.put(stamp(0, 30, 25));
  EXPECT_TRUE(joiner.take().empty());
  EXPECT_EQ(joiner.discarded(), 1u);
}

TEST(SampleJoiner, CallsThatARankNeverReportsAreGivenUp) {
  SampleJoiner joiner(2);
  for (uint64_t i = 0; i < 10000; ++i) joiner.put(stamp(i, 1, 2));
  EXPECT_GE(joiner.discarded(), 10000u - 4097u);
}

TEST(SampleBoard, AllRanksFitIntoTheBytesItAsksFor) {
  std::vector<std::byte> memory(SampleBoard::requiredBytes(3) + 64);
  auto* at = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) &
                                          ~uintptr_t{63});
  SampleBoard board(at, 3);
  EXPECT_LE(reinterpret_cast<std::byte*>(&board.of(2) + 1), at + SampleBoard::requiredBytes(3));
  EXPECT_TRUE(board.of(2).samples.push(stamp(1, 2, 3)));
  board.setSkipMask(15);
  EXPECT_EQ(board.skipMask(), 15u);
}

}  // namespace
}  // namespace autoccl
