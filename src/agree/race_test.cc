// The race between a call and the fence (design, section 5, rules 2 and 3), twice: all
// interleavings on a model of x86-TSO, where orders too weak show at once; and the real table under
// threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <set>
#include <thread>
#include <vector>

#include "agree/core.h"
#include "agree/table.h"
#include "base/clock.h"

namespace autoccl {
namespace {

// ---- the model: two threads, memory, a store buffer each ----

enum Cell : uint8_t { kCounter, kFence, kSchedule, kCells };
constexpr int kOpen = 9;     // a fence that holds nobody
constexpr int kFenceAt = 1;  // the version's first call
constexpr int kCalls = 3;

struct Op {
  enum Kind : uint8_t {
    kTake,          // locked fetch_add of the counter: drains the buffer
    kAwaitFence,    // load; goes on when the index is below it, else stays
    kPeekFence,     // load, ahead of the index
    kAwaitPeeked,   // goes on when the index is below what was peeked, else as kAwaitFence
    kReadSchedule,  // load; the call runs by what it saw
    kStore,         // into the buffer
    kBarrier,       // drains the buffer (what a seq_cst store adds on x86)
    kVote           // load of the counter; a "no" skips the commit's store
  } kind;
  Cell cell = kCounter;
  int value = 0;
  bool ifYes = false;  // only when the vote was yes
};

struct Machine {
  std::array<int, kCells> memory{0, kOpen, 0};
  std::array<std::vector<std::pair<Cell, int>>, 2> buffer;
  std::array<size_t, 2> at{};
  int index = -1;  // of the user's current call
  int peeked = 0;
  bool yes = false;
  std::array<int, kCalls> ran{-1, -1, -1};
  auto operator<=>(const Machine&) const = default;  // NOLINT(modernize-use-nullptr)

  [[nodiscard]] int load(size_t thread, Cell cell) const {
    for (auto it = buffer[thread].rbegin(); it != buffer[thread].rend(); ++it)
      if (it->first == cell) return it->second;
    return memory[cell];
  }
};

using Program = std::vector<Op>;

/// Runs the next operation of a thread, if it can. False: it has to wait.
bool stepThread(Machine& m, size_t thread, const Program& program) {
  const Op& op = program[m.at[thread]];
  switch (op.kind) {
    case Op::kTake:
      if (!m.buffer[thread].empty()) return false;
      m.index = m.memory[kCounter]++;
      break;
    case Op::kAwaitFence:
      if (m.index >= m.load(thread, kFence)) return false;
      break;
    case Op::kPeekFence:
      m.peeked = m.load(thread, kFence);
      break;
    case Op::kAwaitPeeked:
      if (m.index >= m.peeked && m.index >= m.load(thread, kFence)) return false;
      break;
    case Op::kReadSchedule:
      m.ran[static_cast<size_t>(m.index)] = m.load(thread, kSchedule);
      break;
    case Op::kStore:
      if (!op.ifYes || m.yes) m.buffer[thread].emplace_back(op.cell, op.value);
      break;
    case Op::kBarrier:
      if (!m.buffer[thread].empty()) return false;
      break;
    case Op::kVote:
      m.yes = m.load(thread, kCounter) <= kFenceAt;
      break;
  }
  ++m.at[thread];
  return true;
}

struct Walk {
  size_t states = 0;
  bool agreed = true;      // a yes vote, and every call from the fence on ran by the new schedule
  bool committed = false;  // some end has a yes vote with a call beyond the fence
};

Walk walk(const Program& user, const Program& agent) {
  const std::array<const Program*, 2> programs{&user, &agent};
  std::set<Machine> seen;
  std::vector<Machine> stack{Machine{}};
  Walk result;
  while (!stack.empty()) {
    const Machine m = stack.back();
    stack.pop_back();
    if (!seen.insert(m).second) continue;
    for (size_t t = 0; t < 2; ++t) {
      Machine next = m;
      if (m.at[t] < programs[t]->size() && stepThread(next, t, *programs[t])) stack.push_back(next);
      if (m.buffer[t].empty()) continue;
      next = m;
      next.memory[m.buffer[t].front().first] = m.buffer[t].front().second;
      next.buffer[t].erase(next.buffer[t].begin());
      stack.push_back(next);
    }
    if (m.at[0] < user.size() || m.at[1] < agent.size()) continue;
    for (size_t i = kFenceAt; i < kCalls && m.yes; ++i) {
      result.committed = true;
      if (m.ran[i] != 1) result.agreed = false;
    }
  }
  result.states = seen.size();
  return result;
}

Program calls(const std::vector<Op>& one) {
  Program program;
  for (int i = 0; i < kCalls; ++i) program.insert(program.end(), one.begin(), one.end());
  return program;
}

const Program kUser = calls({{Op::kTake}, {Op::kAwaitFence}, {Op::kReadSchedule}});
const Program kAgent{
    {Op::kStore, kFence, kFenceAt}, {Op::kBarrier}, {Op::kVote}, {Op::kStore, kSchedule, 1, true},
    {Op::kStore, kFence, kOpen},    {Op::kBarrier}};

TEST(CounterAndFence, NoInterleavingLetsACountedCallMissTheFence) {
  const Walk w = walk(kUser, kAgent);
  EXPECT_TRUE(w.agreed);
  EXPECT_TRUE(w.committed);
  std::printf("%zu states of the call/fence race on x86-TSO\n", w.states);
}

TEST(CounterAndFence, WeakerOrdersAreCaught) {
  Program relaxed = kAgent;
  relaxed.erase(relaxed.begin() + 1);
  EXPECT_FALSE(walk(kUser, relaxed).agreed) << "the fence's store is not seq_cst";

  Program countsFirst = kAgent;
  std::rotate(countsFirst.begin(), countsFirst.begin() + 2, countsFirst.begin() + 3);
  EXPECT_FALSE(walk(kUser, countsFirst).agreed) << "the counter is read before the fence stands";

  Program liftsFirst = kAgent;
  std::swap(liftsFirst[3], liftsFirst[4]);
  EXPECT_FALSE(walk(kUser, liftsFirst).agreed) << "the fence is lifted before the entries stand";

  const Program peeks =
      calls({{Op::kPeekFence}, {Op::kTake}, {Op::kAwaitPeeked}, {Op::kReadSchedule}});
  EXPECT_FALSE(walk(peeks, kAgent).agreed) << "a call looks at the fence before it takes its index";
}

// ---- the real table: callers and agent at full speed; under TSan also a proof of no data race
// ----

Task task(uint64_t bytes) {
  return {1, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 2, bytes};
}

Config config(uint64_t version) {
  Config c;
  c.chunk = static_cast<uint32_t>(version);
  return c;
}

struct Committed {
  uint64_t fromCall = 0;
  uint64_t version = 0;
};

/// Proposes `versions` changes (fewer on a slow machine), each a few calls ahead; returns those
/// that were committed.
std::vector<Committed> changeTable(TaskTable& table, uint64_t key, uint64_t versions,
                                   std::atomic<bool>& over) {
  std::vector<Committed> committed;
  const int64_t end = nowNs() + 2'000'000'000;
  for (uint64_t v = 1; v <= versions && nowNs() < end; ++v) {
    const uint64_t from = table.nextIndex(key) + v % 7;
    const Prepare p{v, false, {{key, {{from, config(v)}}}}};
    if (table.install(p)) {
      std::this_thread::yield();
      continue;
    }
    const Ack ack{v, {table.nextIndex(key)}, {}, false, ""};
    const bool commit = votesYes(p, ack);
    if (v % 3 == 0) std::this_thread::yield();
    table.settle(p, commit);
    if (commit) committed.push_back({from, v});
  }
  over = true;
  return committed;
}

TEST(CounterAndFence, RealThreadsRunEveryCallByTheCommittedTable) {
  TaskTable table(16, 10'000'000'000);
  const Task t = task(1 << 20);
  std::vector<uint32_t> ran;
  std::atomic<bool> over{false};
  std::thread user([&] {
    while (!over || ran.size() < 1000) {
      Config c = config(0);
      ASSERT_TRUE(table.resolve(table.take(t, config(0)), c));
      ran.push_back(c.chunk);
      if (ran.size() % 64 == 0) std::this_thread::yield();
    }
  });
  const auto committed = changeTable(table, keyOf(t), 60000, over);
  user.join();
  EXPECT_GT(committed.size(), 0u);
  // A call runs by the newest version whose first call is at or below it.
  std::vector<Committed> inForce;
  for (const auto& c : committed) {
    while (!inForce.empty() && inForce.back().fromCall >= c.fromCall) inForce.pop_back();
    inForce.push_back(c);
  }
  std::vector<uint32_t> expected(ran.size(), 0);
  for (size_t i = 0, next = 0; i < ran.size(); ++i) {
    while (next < inForce.size() && inForce[next].fromCall <= i) ++next;
    if (next > 0) expected[i] = static_cast<uint32_t>(inForce[next - 1].version);
  }
  size_t wrong = 0;
  for (size_t i = 0; i < ran.size(); ++i) wrong += ran[i] != expected[i];
  EXPECT_EQ(wrong, 0u) << "of " << ran.size() << " calls, " << committed.size() << " versions";
}

}  // namespace
}  // namespace autoccl
