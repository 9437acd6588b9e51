// The long forms of src/engine's tests: the whole matrix, 200 kills, a message above 4 GiB.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "base/clock.h"
#include "engine/testing/ranks.h"
#include "engine/testing/sample_call.h"

namespace autoccl {
namespace {

using testing::SampleCall;

void check(Communicator& comm, const SampleCall& sample, const Config& config) {
  std::vector<void*> memory;
  const std::string wrong = testing::runSample(
      sample, comm.rank(), false,
      [&](const Call& call) { return comm.execute(call, comm.issue(call)); },
      [&](size_t bytes) { return memory.emplace_back(std::malloc(bytes)); });
  for (void* p : memory) std::free(p);
  ASSERT_EQ(wrong, "") << toText(config) << "; " << comm.failure().text;
}

/// Float8 keeps only sums up to 16 exactly, and a plan rounds every partial result.
bool exact(const SampleCall& s, const Config& config) {
  const bool narrow =
      sizeOf(s.dtype) == 1 && s.dtype != DataType::kInt8 && s.dtype != DataType::kUint8;
  return !isPlanned(config.algorithm) || !narrow;
}

TEST(EngineSlow, EveryPathCollectiveTypeAndOperationOnOneToEightRanks) {
  for (int n = 1; n <= 8; ++n)
    testing::runAsThreads(n, [n](Communicator& comm) {
      for (int c = 0; c <= static_cast<int>(Collective::kReduceScatterv); ++c) {
        Task task;
        task.collective = static_cast<Collective>(c);
        task.nRanks = n;
        const Space space = comm.spaceFor(task);
        for (const Subspace& s : space.subspaces) {
          const Config config{
              s.algorithm, s.protocol, s.transport, static_cast<uint8_t>(WaitPolicy::kYield),
              1,           1,          4096};
          if (s.extra != 0 || !space.valid(config)) continue;
          comm.pin(config);
          for (int type = 0; type < kDataTypes; ++type)
            for (int op = 0; op < (reduces(task.collective) ? kReduceOps : 1); ++op) {
              SampleCall sample;
              sample.collective = task.collective;
              sample.dtype = static_cast<DataType>(type);
              sample.op = static_cast<ReduceOp>(op);
              sample.nRanks = n;
              sample.root = (type + op) % n;
              sample.count = 301;
              sample.inPlace = (type + op) % 2 == 0;
              if (exact(sample, config)) check(comm, sample, config);
              if (::testing::Test::HasFatalFailure()) return;
            }
        }
      }
    });
}

struct Board {
  std::atomic<int> calls{0};
  std::atomic<int> answered{0};
  std::atomic<int64_t> lastNs{0};
};

TEST(EngineSlow, TwoHundredKillsLeaveNoSurvivorWaiting) {
  std::mt19937 chance(1);
  const char* paths[] = {"twoshot/zero/shm",   "twoshot/simple/cma", "twoshot/simple/shm",
                         "oneshot/simple/shm", "ring/simple/shm",    "tree/ll/shm",
                         "hd/simple/shm",      "ring/simple/cma"};
  for (int round = 0; round < 200; ++round) {
    void* page =
        ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Board* board = new (page) Board;
    const std::string spec =
        std::string(paths[chance() % 8]) + " c=4K wait=" + (chance() % 2 ? "futex" : "yield");
    const auto ranks = testing::startProcesses(4, [&](Communicator& comm) {
      comm.pin(parseConfig(spec));
      std::vector<float> data(20000, 1);
      Call call;
      call.collective = Collective::kAllReduce;
      call.dtype = DataType::kFloat32;
      call.send = call.recv = data.data();
      call.count = data.size();
      while (comm.execute(call, comm.issue(call))) board->calls.fetch_add(1);
      board->lastNs.store(nowNs());
      board->answered.fetch_add(1);
    });
    while (board->calls.load() < 8) std::this_thread::sleep_for(std::chrono::microseconds(200));
    std::this_thread::sleep_for(std::chrono::microseconds(chance() % 20000));
    const int64_t killed = nowNs();
    ::kill(ranks[chance() % 4], SIGKILL);
    const auto statuses = testing::awaitProcesses(ranks);
    EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 0), 3) << spec;
    EXPECT_EQ(board->answered.load(), 3) << spec;
    EXPECT_LT(board->lastNs.load() - killed, 5'000'000'000) << spec;
    ::munmap(page, sizeof(Board));
  }
}

TEST(EngineSlow, MessagesAboveFourGibibytesArrive) {
  constexpr size_t kBytes = (size_t{4} << 30) + 12345;
  for (const char* path :
       {"twoshot/zero/shm c=1M", "twoshot/simple/cma c=256K", "ring/simple/shm c=256K"})
    testing::runAsThreads(2, [&](Communicator& comm) {
      comm.pin(parseConfig(path));
      void* memory =
          ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ASSERT_NE(memory, MAP_FAILED);
      auto* bytes = static_cast<uint8_t*>(memory);
      const size_t marks[] = {0, size_t{1} << 31, (size_t{1} << 32) - 1, size_t{1} << 32,
                              kBytes - 1};
      for (const size_t at : marks) bytes[at] = static_cast<uint8_t>(comm.rank() + 1);
      Call call;
      call.collective = Collective::kAllReduce;
      call.dtype = DataType::kUint8;
      call.send = call.recv = memory;
      call.count = kBytes;
      ASSERT_TRUE(comm.execute(call, comm.issue(call))) << comm.failure().text;
      for (const size_t at : marks) EXPECT_EQ(bytes[at], 3) << at << " " << path;
      ::munmap(memory, kBytes);
    });
}

}  // namespace
}  // namespace autoccl
