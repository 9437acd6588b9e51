// The C interface as programs use it: ranks are threads unless a test says otherwise.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "autoccl/autoccl.h"

namespace {

/// Every rank on a thread of its own.
void onRanks(int n, const std::function<void(acclComm_t, int)>& body) {
  std::vector<acclComm_t> comms(static_cast<size_t>(n));
  ASSERT_EQ(acclCommInitAll(comms.data(), n), acclSuccess) << acclGetLastError(nullptr);
  std::vector<std::thread> threads;
  threads.reserve(n);
  for (int r = 0; r < n; ++r)
    threads.emplace_back([&, r] { body(comms[static_cast<size_t>(r)], r); });
  for (auto& thread : threads) thread.join();
  for (acclComm_t comm : comms) EXPECT_EQ(acclCommDestroy(comm), acclSuccess);
}

std::vector<float> ones(size_t n, float value = 1) {
  return std::vector<float>(n, value);
}

TEST(Api, OneThreadDrivesAllRanksInAGroup) {
  constexpr int n = 4;
  acclComm_t comms[n];
  ASSERT_EQ(acclCommInitAll(comms, n), acclSuccess) << acclGetLastError(nullptr);
  std::vector<std::vector<float>> data;
  data.reserve(n);
  for (int r = 0; r < n; ++r) data.push_back(ones(3000, static_cast<float>(r)));
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(acclGroupStart(), acclSuccess);
    for (int r = 0; r < n; ++r) {
      float* p = data[static_cast<size_t>(r)].data();
      EXPECT_EQ(acclAllReduce(p, p, 3000, acclFloat32, acclMax, comms[r], nullptr), acclSuccess);
      EXPECT_EQ(acclBroadcast(p, p, 10, acclFloat32, 0, comms[r], nullptr), acclSuccess);
    }
    ASSERT_EQ(acclGroupEnd(), acclSuccess);
    for (const auto& d : data) EXPECT_EQ(d, ones(3000, 3));
  }
  for (acclComm_t comm : comms) acclCommDestroy(comm);
}

TEST(Api, AGroupOfSendsAndReceivesDoesNotWaitForItself) {
  onRanks(3, [](acclComm_t comm, int rank) {
    for (const size_t count : {0, 3, 100000, 700000}) {
      std::vector<std::vector<int>> out(3), in(3);
      EXPECT_EQ(acclGroupStart(), acclSuccess);
      for (int peer = 0; peer < 3; ++peer) {  // to all, oneself too
        auto& mine = out[static_cast<size_t>(peer)];
        mine.resize(count);
        std::iota(mine.begin(), mine.end(), rank * 10 + peer);
        in[static_cast<size_t>(peer)].assign(count, -1);
        EXPECT_EQ(acclSend(mine.data(), count, acclInt32, peer, comm, nullptr), acclSuccess);
        EXPECT_EQ(
            acclRecv(in[static_cast<size_t>(peer)].data(), count, acclInt32, peer, comm, nullptr),
            acclSuccess);
      }
      ASSERT_EQ(acclGroupEnd(), acclSuccess) << acclGetLastError(comm);
      for (int peer = 0; peer < 3; ++peer) {
        std::vector<int> want(count);
        std::iota(want.begin(), want.end(), peer * 10 + rank);
        EXPECT_EQ(in[static_cast<size_t>(peer)], want);
      }
    }
  });
}

TEST(Api, MessagesKeepTheirOrderAndWrongLengthsAreTold) {
  onRanks(2, [](acclComm_t comm, int rank) {
    for (int i = 0; i < 50; ++i) {
      int value = i;
      const auto result = rank == 0 ? acclSend(&value, 1, acclInt32, 1, comm, nullptr)
                                    : acclRecv(&value, 1, acclInt32, 0, comm, nullptr);
      ASSERT_EQ(result, acclSuccess) << acclGetLastError(comm);
      ASSERT_EQ(value, i);
    }
    int two[2] = {1, 2};
    if (rank == 0) {
      EXPECT_EQ(acclSend(two, 2, acclInt32, 1, comm, nullptr), acclSuccess);
    } else {
      EXPECT_EQ(acclRecv(two, 1, acclInt32, 0, comm, nullptr), acclInvalidArgument);
      EXPECT_NE(std::strstr(acclGetLastError(comm), "8 bytes"), nullptr) << acclGetLastError(comm);
    }
  });
}

TEST(Api, StreamsKeepTheirOrderAndEventsJoinThem) {
  onRanks(2, [](acclComm_t comm, int rank) {
    acclStream_t first, second;
    acclEvent_t event, start;
    ASSERT_EQ(acclStreamCreate(&first), acclSuccess);
    ASSERT_EQ(acclStreamCreate(&second), acclSuccess);
    ASSERT_EQ(acclEventCreate(&event), acclSuccess);
    ASSERT_EQ(acclEventCreate(&start), acclSuccess);
    auto data = ones(50000, static_cast<float>(rank + 1));
    acclEventRecord(start, first);
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(
          acclAllReduce(data.data(), data.data(), data.size(), acclFloat32, acclSum, comm, first),
          acclSuccess);
    acclEventRecord(event, first);
    acclStreamWaitEvent(second, event);
    bool seen = false;
    struct Look {
      const std::vector<float>& data;
      bool& seen;
    } look{data, seen};
    acclLaunchHostFunc(
        second,
        [](void* arg) {
          static_cast<Look*>(arg)->seen = static_cast<Look*>(arg)->data[0] == 24.0F;
        },
        &look);
    acclStreamSynchronize(second);
    EXPECT_TRUE(seen);
    acclStreamSynchronize(first);  // its event was its last work; its thread may still be ending it
    EXPECT_EQ(acclStreamQuery(first), acclSuccess);
    float ms = -1;
    EXPECT_EQ(acclEventElapsedTime(&ms, start, event), acclSuccess);
    EXPECT_GE(ms, 0);
    acclEventDestroy(event);
    acclEventDestroy(start);
    acclStreamDestroy(first);
    acclStreamDestroy(second);
  });
}

TEST(Api, SplitsGroupByColorAndOrderByKey) {
  onRanks(5, [](acclComm_t comm, int rank) {
    acclComm_t part = nullptr;
    const int color = rank == 4 ? ACCL_SPLIT_NOCOLOR : rank % 2;
    ASSERT_EQ(acclCommSplit(comm, color, -rank, &part, nullptr), acclSuccess)
        << acclGetLastError(nullptr);
    if (rank == 4) {
      EXPECT_EQ(part, nullptr);
      return;
    }
    int size = 0, mine = -1;
    acclCommCount(part, &size);
    acclCommUserRank(part, &mine);
    EXPECT_EQ(size, 2);
    EXPECT_EQ(mine, rank < 2 ? 1 : 0);
    int64_t value = rank;
    EXPECT_EQ(acclAllReduce(&value, &value, 1, acclInt64, acclSum, part, nullptr), acclSuccess);
    EXPECT_EQ(value, color == 0 ? 2 : 4);
    acclCommDestroy(part);
  });
}

TEST(Api, UnevenCallsOnAStreamKeepTheirOwnArrays) {
  onRanks(2, [](acclComm_t comm, int rank) {
    acclStream_t stream;
    acclStreamCreate(&stream);
    std::vector<int> in{rank * 10, rank * 10 + 1, rank * 10 + 2}, out(3, -1);
    {
      const std::vector<size_t> counts =
          rank == 0 ? std::vector<size_t>{1, 2} : std::vector<size_t>{2, 1};
      const std::vector<size_t> displs{0, counts[0]};
      ASSERT_EQ(acclAllToAllv(in.data(), counts.data(), displs.data(), out.data(), counts.data(),
                              displs.data(), acclInt32, comm, stream),
                acclSuccess);
    }
    acclStreamSynchronize(stream);
    EXPECT_EQ(out, rank == 0 ? (std::vector<int>{0, 10, 11}) : (std::vector<int>{1, 2, 12}));
    acclStreamDestroy(stream);
  });
}

TEST(Api, ScaledSumsUseEachRanksFactor) {
  onRanks(2, [](acclComm_t comm, int rank) {
    float factor = rank == 0 ? 0.5F : 3.0F;
    acclRedOp_t op;
    ASSERT_EQ(acclRedOpCreatePreMulSum(&op, &factor, acclFloat32, acclScalarHostImmediate, comm),
              acclSuccess);
    auto data = ones(100, 2);
    EXPECT_EQ(acclAllReduce(data.data(), data.data(), 100, acclFloat32, op, comm, nullptr),
              acclSuccess);
    EXPECT_EQ(data, ones(100, 7));
    EXPECT_EQ(acclRedOpDestroy(op, comm), acclSuccess);
    EXPECT_EQ(acclAllReduce(data.data(), data.data(), 100, acclFloat32, op, comm, nullptr),
              acclInvalidArgument);
  });
}

TEST(Api, ANonBlockingCommunicatorNeverMakesItsCallerWait) {
  acclUniqueId id;
  ASSERT_EQ(acclGetUniqueId(&id), acclSuccess);
  acclConfig_t config = ACCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.name = "later";
  acclComm_t comms[2];
  for (int r = 0; r < 2; ++r)
    EXPECT_EQ(acclCommInitRankConfig(&comms[r], 2, id, r, &config), acclInProgress);
  const auto settle = [&] {
    for (acclComm_t comm : comms) {
      acclResult_t state = acclInProgress;
      while (state == acclInProgress) ASSERT_EQ(acclCommGetAsyncError(comm, &state), acclSuccess);
      ASSERT_EQ(state, acclSuccess) << acclGetLastError(comm);
    }
  };
  settle();
  std::vector<float> data[2] = {ones(100, 1), ones(100, 2)};
  for (int r = 0; r < 2; ++r)  // one thread: the first call must not wait for the second
    EXPECT_EQ(
        acclAllReduce(data[r].data(), data[r].data(), 100, acclFloat32, acclSum, comms[r], nullptr),
        acclInProgress);
  settle();
  EXPECT_EQ(data[0], ones(100, 3));
  for (acclComm_t comm : comms) acclCommDestroy(comm);
}

TEST(Api, ConfigsArePinnedShownAndRefused) {
  onRanks(2, [](acclComm_t comm, int) {
    ASSERT_EQ(acclCommPinConfig(comm, "ring/simple/shm nc=2 nt=1 c=64K wait=yield"), acclSuccess)
        << acclGetLastError(comm);
    auto data = ones(10000);
    ASSERT_EQ(
        acclAllReduce(data.data(), data.data(), data.size(), acclFloat32, acclSum, comm, nullptr),
        acclSuccess);
    char spec[128];
    EXPECT_EQ(acclCommLastConfig(comm, spec, sizeof spec), acclSuccess);
    EXPECT_STREQ(spec, "ring/simple/shm nc=2 nt=1 c=64K wait=yield");
    EXPECT_EQ(acclCommPinConfig(comm, "ring/simple/ucx"), acclInvalidArgument);
    EXPECT_EQ(acclCommPinConfig(comm, "ring/simple/shm nc=9999"), acclInvalidArgument);
    EXPECT_NE(std::strstr(acclGetLastError(nullptr), "nearest"), nullptr)
        << acclGetLastError(nullptr);
    size_t needed = 0;
    EXPECT_EQ(acclCommSpace(comm, "allreduce", 1 << 20, nullptr, 0, &needed), acclSuccess);
    EXPECT_GT(needed, 1000U);
    EXPECT_EQ(acclCommSpace(comm, "sum", 1 << 20, nullptr, 0, &needed), acclInvalidArgument);
  });
}

TEST(Api, ArgumentsAreCheckedBySentence) {
  onRanks(1, [](acclComm_t comm, int) {
    float value = 1;
    EXPECT_EQ(acclAllReduce(&value, &value, 1, acclFloat32, acclSum, nullptr, nullptr),
              acclInvalidArgument);
    EXPECT_EQ(acclAllReduce(nullptr, &value, 1, acclFloat32, acclSum, comm, nullptr),
              acclInvalidArgument);
    EXPECT_EQ(
        acclAllReduce(&value, &value, 1, static_cast<acclDataType_t>(77), acclSum, comm, nullptr),
        acclInvalidArgument);
    EXPECT_EQ(
        acclAllReduce(&value, &value, 1, acclFloat32, static_cast<acclRedOp_t>(9), comm, nullptr),
        acclInvalidArgument);
    EXPECT_EQ(acclBroadcast(&value, &value, 1, acclFloat32, 1, comm, nullptr), acclInvalidArgument);
    EXPECT_NE(std::strstr(acclGetLastError(comm), "root 1"), nullptr) << acclGetLastError(comm);
    EXPECT_EQ(acclSend(&value, 1, acclFloat32, 0, comm, nullptr), acclInvalidArgument);
    EXPECT_EQ(acclGroupEnd(), acclInvalidUsage);
    EXPECT_EQ(acclCommFinalize(comm), acclSuccess);
    EXPECT_EQ(acclBarrier(comm, nullptr), acclInvalidUsage);
  });
}

TEST(Api, ManyCommunicatorsWorkSideBySideOnManyThreads) {
  constexpr int kGroups = 4;
  std::vector<std::thread> groups;
  groups.reserve(kGroups);
  for (int g = 0; g < kGroups; ++g)
    groups.emplace_back([g] {
      onRanks(2, [g](acclComm_t comm, int) {
        for (int i = 0; i < 50; ++i) {
          auto data = ones(100 * static_cast<size_t>(g + 1), static_cast<float>(g));
          ASSERT_EQ(acclAllReduce(data.data(), data.data(), data.size(), acclFloat32, acclSum, comm,
                                  nullptr),
                    acclSuccess);
          ASSERT_EQ(data, ones(data.size(), static_cast<float>(2 * g)));
        }
      });
    });
  for (auto& group : groups) group.join();
}

TEST(Api, ForkLeavesAllocatedAndRegisteredMemoryWhole) {
  acclComm_t comm;
  ASSERT_EQ(acclCommInitAll(&comm, 1), acclSuccess);
  constexpr size_t kBytes = 1 << 20;
  void* ordinary = std::aligned_alloc(4096, kBytes);
  std::memset(ordinary, 7, kBytes);
  void* handle = nullptr;
  ASSERT_EQ(acclCommRegister(comm, ordinary, kBytes, &handle), acclSuccess)
      << acclGetLastError(comm);
  EXPECT_EQ(static_cast<char*>(ordinary)[kBytes - 1], 7);
  const pid_t child = ::fork();
  if (child == 0) {
    std::memset(ordinary, 9, kBytes);  // its own copy, as fork promises
    void* more = nullptr;
    const bool ok = acclMemAlloc(&more, 100) == acclSuccess && acclMemFree(more) == acclSuccess;
    ::_exit(ok ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(static_cast<char*>(ordinary)[0], 7);
  EXPECT_EQ(acclCommDeregister(comm, handle), acclSuccess);
  EXPECT_EQ(static_cast<char*>(ordinary)[kBytes / 2], 7);
  std::free(ordinary);
  EXPECT_EQ(acclMemFree(&comm), acclInvalidArgument);
  acclCommDestroy(comm);
}

/// What 300 calls on two ranks leave to be seen from outside.
struct Traces {
  std::set<std::string> configs;
  std::ptrdiff_t threads = 0;
};

Traces tracesOfCalls() {
  Traces traces;
  onRanks(2, [&](acclComm_t comm, int rank) {
    auto data = ones(256);
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(
          acclAllReduce(data.data(), data.data(), data.size(), acclFloat32, acclMax, comm, nullptr),
          acclSuccess);
      char config[256];
      EXPECT_EQ(acclCommLastConfig(comm, config, sizeof config), acclSuccess);
      if (rank == 0) traces.configs.insert(config);
    }
    const std::filesystem::directory_iterator threads("/proc/self/task");
    if (rank == 0) traces.threads = std::distance(begin(threads), end(threads));
  });
  return traces;
}

TEST(Api, WithoutItsVariableNothingIsTunedWrittenOrStarted) {
  const std::filesystem::path record = std::filesystem::temp_directory_path() /
                                       ("autoccl-api-" + std::to_string(getpid()) + ".json");
  setenv("AUTOCCL_RESULT", record.c_str(), 1);
  unsetenv("AUTOCCL_TUNE");
  const Traces untouched = tracesOfCalls();
  EXPECT_EQ(untouched.configs.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(record));
  setenv("AUTOCCL_TUNE", "1", 1);
  const Traces tuned = tracesOfCalls();
  EXPECT_LT(untouched.threads, tuned.threads) << "an agent works for each rank only then";
  EXPECT_TRUE(std::filesystem::exists(record));
  std::filesystem::remove(record);
  unsetenv("AUTOCCL_TUNE");
  unsetenv("AUTOCCL_RESULT");
}

}  // namespace
