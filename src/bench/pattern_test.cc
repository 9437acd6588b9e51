#include "bench/pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace autoccl::bench {
namespace {

constexpr int kRanks = 3;
constexpr size_t kCount = 3 * 1500;  // longer than the pattern's period, not a multiple of it
constexpr size_t kPart = kCount / kRanks;

std::vector<float> inputOf(Collective c, int rank, uint32_t salt) {
  const Shape shape{c, rank, kRanks, kCount, salt};
  std::vector<float> in(sendCount(shape));
  writeInput(shape, in);
  return in;
}

float sumAt(Collective c, uint32_t salt, size_t i) {
  float sum = 0;
  for (int r = 0; r < kRanks; ++r) sum += inputOf(c, r, salt)[i];
  return sum;
}

/// What `rank` must receive, put together from the ranks' inputs by the definition of the
/// collective.
std::vector<float> resultOf(Collective c, int rank, uint32_t salt) {
  std::vector<float> out(receiveCount({c, rank, kRanks, kCount, salt}));
  const auto me = static_cast<size_t>(rank);
  for (size_t i = 0; i < out.size(); ++i) {
    const int from = static_cast<int>(i / kPart);
    switch (c) {
      case Collective::kAllGather:
      case Collective::kGather:
        out[i] = inputOf(c, from, salt)[i % kPart];
        break;
      case Collective::kAllToAll:
        out[i] = inputOf(c, from, salt)[me * kPart + i % kPart];
        break;
      case Collective::kBroadcast:
        out[i] = inputOf(c, 0, salt)[i];
        break;
      case Collective::kScatter:
        out[i] = inputOf(c, 0, salt)[me * kPart + i];
        break;
      case Collective::kReduceScatter:
        out[i] = sumAt(c, salt, me * kPart + i);
        break;
      default:
        out[i] = sumAt(c, salt, i);
    }
  }
  return out;
}

constexpr Collective kAll[] = {Collective::kAllReduce,     Collective::kAllGather,
                               Collective::kReduceScatter, Collective::kBroadcast,
                               Collective::kReduce,        Collective::kAllToAll,
                               Collective::kGather,        Collective::kScatter};

TEST(BenchPattern, ARightResultHasNoWrongElements) {
  for (const Collective c : kAll)
    for (int rank = 0; rank < kRanks; ++rank)
      EXPECT_EQ(countWrong({c, rank, kRanks, kCount, 5}, resultOf(c, rank, 5)), 0u)
          << toText(c) << " rank " << rank;
}

TEST(BenchPattern, EveryChangedElementIsCounted) {
  for (const Collective c : kAll) {
    std::vector<float> result = resultOf(c, 0, 5);
    result.front() += 1;
    result.back() += 1;
    EXPECT_EQ(countWrong({c, 0, kRanks, kCount, 5}, result), 2u) << toText(c);
  }
}

TEST(BenchPattern, TheResultOfTheCallBeforeIsWrong) {
  const std::vector<float> before = resultOf(Collective::kAllReduce, 0, 5);
  EXPECT_EQ(countWrong({Collective::kAllReduce, 0, kRanks, kCount, 6}, before), kCount);
}

TEST(BenchPattern, TheInputItselfIsNotTheResultOfAReduction) {
  const std::vector<float> input = inputOf(Collective::kAllReduce, 1, 7);
  EXPECT_GT(countWrong({Collective::kAllReduce, 1, kRanks, kCount, 7}, input), kCount / 2);
}

}  // namespace
}  // namespace autoccl::bench
