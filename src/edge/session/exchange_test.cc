// Ranks as threads over the loopback.
#include "edge/session/exchange.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "base/clock.h"

namespace autoccl {
namespace {

using Bytes = Exchange::Bytes;

TcpLinks::Options optionsOf(int rank, int nRanks, uint16_t port) {
  TcpLinks::Options o;
  o.rank = rank;
  o.nRanks = nRanks;
  o.session = 77;
  o.candidates = {{"127.0.0.1", port}};
  return o;
}

int64_t inSeconds(double s) {
  return nowNs() + static_cast<int64_t>(s * 1e9);
}

Bytes least(const std::vector<Bytes>& all) {
  return *std::min_element(all.begin(), all.end());
}

TEST(Exchange, GivesEveryRankTheSameAnswerStepByStep) {
  constexpr int kRanks = 4;
  std::vector<std::vector<Bytes>> got(kRanks);
  std::vector<std::thread> ranks;
  for (int r = 0; r < kRanks; ++r)
    ranks.emplace_back([&, r] {
      Exchange exchange(optionsOf(r, kRanks, 29311), inSeconds(20));
      for (uint8_t step = 0; step < 5; ++step) {
        const auto answer = exchange.step({static_cast<uint8_t>(10 * step + r)}, least);
        if (answer) got[static_cast<size_t>(r)].push_back(*answer);
      }
    });
  for (auto& rank : ranks) rank.join();
  for (const auto& answers : got)
    EXPECT_EQ(answers, (std::vector<Bytes>{{0}, {10}, {20}, {30}, {40}}));
}

TEST(Exchange, EndsAtTheDeadlineWhereARankNeverComes) {
  Exchange exchange(optionsOf(0, 2, 29312), inSeconds(0.05));
  EXPECT_FALSE(exchange.step({1}, least));
}

TEST(Exchange, EndsWhenItIsCancelled) {
  bool asked = false;
  Exchange exchange(optionsOf(0, 2, 29315), inSeconds(20),
                    [&] { return std::exchange(asked, true); });
  EXPECT_FALSE(exchange.step({1}, least));
  EXPECT_FALSE(exchange.step({1}, least)) << "and so does every later step";
}

TEST(Exchange, OneNoIsTheAnswerForThoseWhoStillThink) {
  std::vector<std::optional<bool>> got(3);
  std::vector<std::thread> ranks;
  for (int r = 0; r < 3; ++r)
    ranks.emplace_back([&, r] {
      Exchange exchange(optionsOf(r, 3, 29314), inSeconds(20));
      // Rank 0 never knows, rank 1 agrees, rank 2 does not.
      got[static_cast<size_t>(r)] =
          exchange.all([r] { return r == 0 ? std::nullopt : std::optional<bool>(r == 1); });
      EXPECT_EQ(exchange.all([] { return std::optional<bool>(true); }), true) << "the next step";
    });
  for (auto& rank : ranks) rank.join();
  EXPECT_EQ(got, (std::vector<std::optional<bool>>{false, false, false}));
}

TEST(Exchange, EndsWithTheRankThatLeaves) {
  std::optional<Bytes> second = Bytes{};
  std::thread leaver([] {
    Exchange exchange(optionsOf(1, 2, 29313), inSeconds(20));
    EXPECT_TRUE(exchange.step({1}, least));
  });
  {
    Exchange exchange(optionsOf(0, 2, 29313), inSeconds(20));
    EXPECT_TRUE(exchange.step({2}, least));
    second = exchange.step({2}, least);
  }
  leaver.join();
  EXPECT_FALSE(second) << "long before the deadline";
}

}  // namespace
}  // namespace autoccl
