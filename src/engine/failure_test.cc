// What happens when a rank goes away, and what a call may cost.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/testing/allocations.h"
#include "engine/testing/ranks.h"

namespace autoccl {
namespace {

Call sumOf(std::vector<float>& data) {
  Call call;
  call.collective = Collective::kAllReduce;
  call.dtype = DataType::kFloat32;
  call.send = call.recv = data.data();
  call.count = data.size();
  return call;
}

Call gatherOf(const std::vector<float>& data, std::vector<float>& all) {
  Call call;
  call.collective = Collective::kAllGather;
  call.dtype = DataType::kFloat32;
  call.send = data.data();
  call.recv = all.data();
  call.count = data.size();
  return call;
}

#ifndef __SANITIZE_THREAD__  // which does not follow forked processes
size_t filesInDevShm() {
  size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/dev/shm")) ++n;
  return n;
}

/// A page that forked ranks share with the test.
struct Board {
  std::atomic<int> answered{0};
  std::atomic<int64_t> lastNs{0};
  std::atomic<int> calls{0};
};

Board* newBoard() {
  void* at =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (at) Board;
}

TEST(Failure, SurvivorsOfAKilledRankReturnWithinFiveSeconds) {
  const size_t before = filesInDevShm();
  const char* paths[] = {"twoshot/zero/shm", "twoshot/simple/cma", "twoshot/simple/shm",
                         "oneshot/simple/shm", "ring/simple/shm", "tree/ll/shm",
                         // from here on AllGather, the last one small
                         "oneshot/zero/shm", "twoshot/simple/cma", "twoshot/simple/shm",
                         "oneshot/simple/shm"};
  for (int round = 0; round < 10; ++round) {
    Board* board = newBoard();
    const std::string spec =
        std::string(paths[round]) + " c=4K wait=" + (round % 2 ? "futex" : "yield");
    const auto ranks = testing::startProcesses(3, [&](Communicator& comm) {
      comm.pin(parseConfig(spec));
      std::vector<float> data(round == 9 ? 200 : 20000, 1), all(60000);
      const Call call = round < 6 ? sumOf(data) : gatherOf(data, all);
      while (comm.execute(call, comm.issue(call))) board->calls.fetch_add(1);
      EXPECT_EQ(comm.failure().code, ErrorCode::kRemote) << comm.failure().text;
      EXPECT_NE(comm.failure().text.find("rank"), std::string::npos) << comm.failure().text;
      board->lastNs.store(nowNs());
      board->answered.fetch_add(1);
    });
    while (board->calls.load() < 30) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const int victim = round % 3;
    const int64_t killed = nowNs();
    ::kill(ranks[static_cast<size_t>(victim)], SIGKILL);
    const auto statuses = testing::awaitProcesses(ranks);
    for (int r = 0; r < 3; ++r)
      EXPECT_EQ(statuses[static_cast<size_t>(r)], r == victim ? -SIGKILL : 0) << spec;
    EXPECT_EQ(board->answered.load(), 2) << spec;
    EXPECT_LT(board->lastNs.load() - killed, 5'000'000'000) << spec;
    ::munmap(board, sizeof(Board));
  }
  EXPECT_EQ(filesInDevShm(), before);
}
#endif

TEST(Failure, AbortEndsACallThatWaitsForAnotherRank) {
  std::atomic<int> failed{0};
  for (const size_t count : {size_t{100}, size_t{50000}})
    testing::runAsThreads(2, [&](Communicator& comm) {
      std::vector<float> data(count, 1), all(2 * count);
      const Call call = gatherOf(data, all);
      if (comm.rank() == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        comm.abort();
        return;
      }
      EXPECT_FALSE(comm.execute(call, comm.issue(call)));
      EXPECT_NE(comm.failure().text.find("rank 1"), std::string::npos) << comm.failure().text;
      ++failed;
    });
  EXPECT_EQ(failed.load(), 2);
}

TEST(Failure, RanksThatCallDifferentThingsAreToldSo) {
  testing::runAsThreads(2, [](Communicator& comm) {
    std::vector<float> data(comm.rank() == 0 ? 100 : 200, 1);
    const Call call = sumOf(data);
    EXPECT_FALSE(comm.execute(call, comm.issue(call)));
    EXPECT_NE(comm.failure().text.find("differ in collective"), std::string::npos)
        << comm.failure().text;
  });
}

TEST(Failure, RanksOfAnAllGathervWithOtherDisplacementsAreToldSo) {
  testing::runAsThreads(2, [](Communicator& comm) {
    const size_t counts[] = {4, 4};
    const size_t displs[] = {0, comm.rank() == 0 ? size_t{4} : size_t{8}};
    std::vector<float> data(4, 1), all(16);
    Call call = gatherOf(data, all);
    call.collective = Collective::kAllGatherv;
    call.recvCounts = counts;
    call.recvDispls = displs;
    EXPECT_FALSE(comm.execute(call, comm.issue(call)));
    EXPECT_EQ(comm.failure().code, ErrorCode::kUsage) << comm.failure().text;
  });
}

TEST(Failure, ARankThatNeverComesIsNamed) {
  Communicator::Options options = testing::optionsOf(newUniqueId(), 0, 3);
  options.timeoutNs = 200'000'000;
  try {
    const Communicator communicator(options);
    FAIL() << "joined alone";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kTimeout);
    EXPECT_NE(std::string(e.what()).find("rank 1, 2"), std::string::npos) << e.what();
  }
}

TEST(Failure, TooLittleMemoryIsRefusedWithTheBytes) {
  Communicator::Options options = testing::optionsOf(newUniqueId(), 0, 1);
  options.sharedAreaBytes = size_t{1} << 50;
  try {
    const Communicator communicator(options);
    FAIL() << "a segment of a pebibyte";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("bytes of shared memory"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("available"), std::string::npos) << e.what();
  }
}

TEST(Cost, ACallSeenBeforeAllocatesNothing) {
  testing::runAsThreads(2, [](Communicator& comm) {
    for (const char* path :
         {"oneshot/simple/shm", "twoshot/simple/shm", "twoshot/simple/cma", "twoshot/zero/shm nc=2",
          "oneshot/zero/shm", "ring/simple/shm", "hd/ll/shm"}) {
      comm.pin(parseConfig(std::string(path) + " c=4K wait=yield"));
      std::vector<float> data(5000, 1), few(200, 1), all(10000);
      const Call calls[] = {sumOf(data), sumOf(few), gatherOf(data, all), gatherOf(few, all),
                            Call{}};
      const auto each = [&] {
        for (const Call& call : calls) comm.execute(call, comm.issue(call));
      };
      for (int i = 0; i < 3; ++i) each();
      const uint64_t before = testing::allocationsOfThisThread();
      for (int i = 0; i < 50; ++i) each();
      EXPECT_EQ(testing::allocationsOfThisThread(), before) << path;
    }
  });
}

}  // namespace
}  // namespace autoccl
