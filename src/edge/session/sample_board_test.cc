#include "edge/session/sample_board.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace autoccl {
namespace {

TEST(SampleBoard, AllRanksFitIntoTheBytesItAsksFor) {
  std::vector<std::byte> memory(SampleBoard::requiredBytes(3) + 64);
  auto* at = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) &
                                          ~uintptr_t{63});
  SampleBoard board(at, 3);
  EXPECT_LE(reinterpret_cast<std::byte*>(&board.of(2) + 1), at + SampleBoard::requiredBytes(3));
  EXPECT_TRUE(board.of(2).samples.push(CallSample{}));
  board.setSkipMask(15);
  EXPECT_EQ(board.skipMask(), 15u);
}

}  // namespace
}  // namespace autoccl
