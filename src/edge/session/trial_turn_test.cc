#include "edge/session/trial_turn.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace autoccl {
namespace {

constexpr int64_t kMs = 1'000'000;

class Turns : public ::testing::Test {
 protected:
  const std::string place_ = "test" + std::to_string(getpid());
  TrialTurn one_{place_, "one"}, other_{place_, "other"};
};

TEST_F(Turns, OneGroupTriesAtATime) {
  EXPECT_TRUE(one_.take(1 * kMs));
  EXPECT_TRUE(one_.take(2 * kMs)) << "it has it already";
  EXPECT_FALSE(other_.take(2 * kMs));
  one_.giveBack(3 * kMs);
  EXPECT_TRUE(other_.take(4 * kMs));
}

TEST_F(Turns, ATurnEndsWhenTheLastTrialsTimeIsKnown) {
  ASSERT_TRUE(one_.take(kMs));
  one_.step(kMs);
  EXPECT_TRUE(one_.held()) << "nothing is agreed yet";
  one_.begun({{7, 20}, {8, 3}}, 2 * kMs);
  one_.seen(7, 19);
  one_.seen(8, 3);
  one_.step(3 * kMs);
  EXPECT_TRUE(one_.held());
  one_.seen(7, 21);
  one_.step(4 * kMs);
  EXPECT_FALSE(one_.held());
}

TEST_F(Turns, ATurnEndsInTimeWhereTheProgramCallsNoMore) {
  ASSERT_TRUE(one_.take(kMs));
  one_.begun({{7, 20}}, kMs);
  one_.step(kMs + TrialTurn::kLongestNs);
  EXPECT_FALSE(one_.held());
}

TEST_F(Turns, WhoGivesItBackLetsThoseWhoWaitGoFirst) {
  ASSERT_TRUE(one_.take(kMs));
  ASSERT_FALSE(other_.take(kMs));
  one_.giveBack(2 * kMs);
  EXPECT_FALSE(one_.take(2 * kMs));
  EXPECT_TRUE(other_.take(3 * kMs));
  other_.giveBack(4 * kMs);
  EXPECT_TRUE(other_.take(4 * kMs)) << "nobody waits";
}

TEST_F(Turns, NobodyWaitsForEver) {
  ASSERT_TRUE(one_.take(kMs));
  EXPECT_FALSE(other_.take(kMs));
  EXPECT_TRUE(other_.take(kMs + TrialTurn::kPatienceNs));
}

TEST_F(Turns, ATurnEndsWithItsProcess) {
  const pid_t child = fork();
  if (child == 0) _exit(TrialTurn(place_, "child").take(kMs) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(one_.take(2 * kMs));
}

TEST_F(Turns, OtherPlacesAreNoneOfTheirBusiness) {
  TrialTurn elsewhere(place_ + "x", "elsewhere");
  ASSERT_TRUE(one_.take(kMs));
  EXPECT_TRUE(elsewhere.take(kMs));
}

}  // namespace
}  // namespace autoccl
