#include "agree/table.h"

#include <gtest/gtest.h>

#include "agree/test_ranks.h"
#include "base/testing/allocations.h"

namespace autoccl {
namespace {

constexpr int64_t kTimeoutNs = 1'000'000'000;

Config callOnce(TaskTable& table, const Task& task) {
  Config c = testConfig(1);
  EXPECT_TRUE(table.resolve(table.take(task, testConfig(1)), c));
  return c;
}

Prepare changeAt(uint64_t version, const Task& task, std::vector<TableEntry> entries) {
  return {version, false, {{keyOf(task), std::move(entries)}}};
}

void commit(TaskTable& table, const Prepare& p) {
  const auto why = table.install(p);
  ASSERT_FALSE(why) << *why;
  table.settle(p, true);
}

TEST(TaskTable, AllocatesNothingInACall) {
  TaskTable table(64, kTimeoutNs);
  commit(table, changeAt(1, testTask(64), {{10, testConfig(2)}, {20, testConfig(3)}}));
  std::vector<Task> tasks;
  for (uint64_t i = 0; i < 70; ++i) tasks.push_back(testTask(64 + i));
  const uint64_t before = testing::allocationsOfThisThread();
  for (int round = 0; round < 100; ++round)
    for (const Task& t : tasks) (void)callOnce(table, t);  // the first calls too, and a full table
  EXPECT_EQ(testing::allocationsOfThisThread(), before);
}

TEST(TaskTable, ACalmCallGetsTheVersionsLastConfigAndNeverATrial) {
  TaskTable table(64, kTimeoutNs);
  const Task task = testTask(64);
  commit(table, changeAt(1, task, {{2, testConfig(5)}, {4, testConfig(6)}, {6, testConfig(2)}}));
  const auto calmly = [&] {
    CallGate::Ticket ticket = table.take(task, testConfig(1));
    ticket.calm = true;
    Config c = testConfig(1);
    EXPECT_TRUE(table.resolve(ticket, c));
    return c;
  };
  EXPECT_EQ(calmly(), testConfig(1));  // call 0: before the version
  EXPECT_EQ(callOnce(table, task), testConfig(1));
  EXPECT_EQ(callOnce(table, task), testConfig(5));
  EXPECT_EQ(calmly(), testConfig(2));  // call 3: amid the trials
  commit(table, changeAt(2, task, {{5, testConfig(7)}, {7, testConfig(3)}}));
  EXPECT_EQ(calmly(), testConfig(2));  // call 4: what is agreed for later changes nothing
  EXPECT_EQ(calmly(), testConfig(3));  // call 5
}

TEST(TaskTable, SaysWhetherTrialsAreUnderWayOrToCome) {
  TaskTable table(64, kTimeoutNs);
  const Task task = testTask(64);
  const auto stageOfNext = [&] {
    Config c = testConfig(1);
    TaskStage stage{};
    EXPECT_TRUE(table.resolve(table.take(task, testConfig(1)), c, stage));
    return stage;
  };
  EXPECT_EQ(stageOfNext(), TaskStage::kUntried);
  commit(table, changeAt(1, task, {{3, testConfig(5)}, {5, testConfig(1)}}));
  for (int call = 1; call < 5; ++call) EXPECT_EQ(stageOfNext(), TaskStage::kTrial) << call;
  EXPECT_EQ(stageOfNext(), TaskStage::kServed);
}

TEST(TaskTable, RefusesAChangeOfATaskItHasNotMet) {
  TaskTable table(64, kTimeoutNs, true);
  const auto change = changeAt(1, testTask(64), {{9, testConfig(5)}});
  EXPECT_TRUE(table.install(change));
  (void)callOnce(table, testTask(64));
  EXPECT_FALSE(table.install(change));
}

TEST(TaskTable, ServesTheDefaultToTasksBeyondItsBound) {
  TaskTable table(8, kTimeoutNs);
  for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(callOnce(table, testTask(64 + i)), testConfig(1));
  EXPECT_EQ(table.newTasks().size(), 8u);
  EXPECT_EQ(table.take(testTask(83), testConfig(1)).slot, TaskTable::kNoSlot);
  const auto why = table.install(changeAt(1, testTask(83), {{5, testConfig(2)}}));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("8 tasks"), std::string::npos) << *why;
  table.settle(changeAt(1, testTask(83), {{5, testConfig(2)}}), false);
}

TEST(TaskTable, NeverSwitchesSendAndReceive) {
  TaskTable table(8, kTimeoutNs);
  Task t = testTask(64);
  t.collective = Collective::kSendRecv;
  commit(table, changeAt(1, t, {{0, testConfig(2)}}));
  EXPECT_EQ(callOnce(table, t), testConfig(1));
  EXPECT_TRUE(table.hashes(8).empty());
}

TEST(TaskTable, LaterVersionsReplaceWhatLiesAheadAndKeepWhatLiesBehind) {
  TaskTable table(8, kTimeoutNs);
  const Task t = testTask(64);
  commit(table, changeAt(1, t, {{2, testConfig(2)}, {4, testConfig(3)}, {50, testConfig(4)}}));
  commit(table, changeAt(2, t, {{6, testConfig(5)}}));
  const uint16_t expected[] = {1, 1, 2, 2, 3, 3, 5, 5};
  for (const uint16_t channels : expected) EXPECT_EQ(callOnce(table, t), testConfig(channels));
  for (int i = 8; i < 60; ++i) EXPECT_EQ(callOnce(table, t), testConfig(5)) << i;
}

TEST(TaskTable, ATicketTakenEarlyRunsByItsIndexHoweverLateItIsResolved) {
  TaskTable table(8, kTimeoutNs);
  const Task t = testTask(64);
  const auto early = table.take(t, testConfig(1));
  for (uint64_t v = 1; v <= 20; ++v) {
    commit(table,
           changeAt(v, t, {{table.nextIndex(keyOf(t)), testConfig(static_cast<uint16_t>(v + 1))}}));
    (void)callOnce(table, t);
  }
  Config c;
  EXPECT_TRUE(table.resolve(early, c));
  EXPECT_EQ(c, testConfig(1));
}

TEST(TaskTable, StaysBoundedWhenCallsNeverRestAndRecoversWhenTheyDo) {
  TaskTable table(8, kTimeoutNs);
  const Task t = testTask(64);
  auto open = table.take(t, testConfig(1));
  std::optional<std::string> why;
  uint64_t version = 0;
  while (!why && version < 1000) {
    const auto p = changeAt(++version, t, {{table.nextIndex(keyOf(t)), testConfig(2)}});
    why = table.install(p);
    if (!why) table.settle(p, true);
    const auto next = table.take(t, testConfig(1));
    Config c;
    EXPECT_TRUE(table.resolve(open, c));
    open = next;
  }
  EXPECT_LE(version, TaskTable::kMaxRetired + 2);
  ASSERT_TRUE(why);
  Config c;
  EXPECT_TRUE(table.resolve(open, c));
  commit(table, changeAt(version + 1, t, {{table.nextIndex(keyOf(t)), testConfig(3)}}));
  EXPECT_EQ(callOnce(table, t), testConfig(3));
}

TEST(TaskTable, HashesTheSequenceOfCallsEvery64) {
  TaskTable a(8, kTimeoutNs), b(8, kTimeoutNs), swapped(8, kTimeoutNs);
  for (uint64_t i = 0; i < 200; ++i) {
    (void)callOnce(a, testTask(64 + i % 3));
    (void)callOnce(b, testTask(64 + i % 3));
    (void)callOnce(swapped, testTask(64 + (i == 70 ? 2 : i == 71 ? 1 : i % 3)));
  }
  ASSERT_EQ(a.hashes(8).size(), 3u);
  EXPECT_EQ(a.hashes(8)[0].calls, 192u);
  EXPECT_EQ(a.hashes(8), b.hashes(8));
  EXPECT_EQ(a.hashes(8)[2], swapped.hashes(8)[2]) << "the first 64 are alike";
  EXPECT_NE(a.hashes(8)[1], swapped.hashes(8)[1]);
  EXPECT_EQ(a.hashes(1).size(), 1u);
}

TEST(TaskTable, DigestsDependOnEveryConfigRun) {
  TaskTable a(8, kTimeoutNs), b(8, kTimeoutNs);
  const Task t = testTask(64);
  commit(b, changeAt(1, t, {{3, testConfig(2)}}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(callOnce(a, t), callOnce(b, t));
  EXPECT_EQ(a.resolvedDigest(), b.resolvedDigest());
  (void)callOnce(a, t);
  (void)callOnce(b, t);
  EXPECT_NE(a.resolvedDigest(), b.resolvedDigest());
}

TEST(TaskTable, ACallerBreaksItsOwnWaitWhenTheAgentStandsStill) {
  TaskTable table(8, 1'000'000);
  const Task t = testTask(64);
  EXPECT_FALSE(table.install(changeAt(1, t, {{0, testConfig(2)}})));
  Config c;
  EXPECT_FALSE(table.resolve(table.take(t, testConfig(1)), c));
  EXPECT_EQ(table.ended(), Ended::kBroken);
  EXPECT_TRUE(table.waitedSinceInstall());
}

}  // namespace
}  // namespace autoccl
