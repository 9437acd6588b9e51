// Ranks as threads: every one loads the plugins as NCCL would, all of them agree.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "edge/nccl/chunk_rule.h"
#include "edge/nccl/cost_table.h"
#include "edge/nccl/identity.h"
#include "edge/nccl/testing/plugins.h"

namespace autoccl::nccl {
namespace {

struct Choice {
  Pair pair;
  int nChannels = 0;
  size_t chunk = 0;
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// What a call of this choice takes, in ns of the GPU's clock: NCCL's own is never the best.
uint64_t modelledNs(const Choice& c, size_t bytes) {
  const double perByte = c.pair.algo == kAlgoTree ? 0.02 : 0.05;
  const double channels = c.nChannels == 0 ? 4 : c.nChannels;
  return static_cast<uint64_t>(20000 + 1000 * channels +
                               perByte * static_cast<double>(bytes) * 8 / channels);
}

/// One rank of a communicator under NCCL 2.30.7, whose kernels run the moment they are launched.
class Rank {
 public:
  Rank(uint64_t commId, int rank, int nRanks) : rank_(rank), nRanks_(nRanks) {
    EXPECT_EQ(ncclProfiler_v6.init(&profiler_, commId, &mask_, "", 1, nRanks, rank, nullptr),
              Result::kSuccess);
    EXPECT_EQ(ncclTunerPlugin_v6.init(&tuner_, commId, static_cast<size_t>(nRanks), 1, nullptr,
                                      nullptr, nullptr),
              Result::kSuccess);
  }
  ~Rank() {
    EXPECT_EQ(ncclTunerPlugin_v6.finalize(tuner_), Result::kSuccess);
    EXPECT_EQ(ncclProfiler_v6.finalize(profiler_), Result::kSuccess);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  Choice call(Func func, size_t bytes) {
    const bool stamped = sampled();  // as it is when the program calls
    // Every rank's NCCL believes in other costs, as where hosts have processors of several makers.
    const float scale = 1 + 0.07F * static_cast<float>(rank_);
    std::vector<float> table(kAlgos * kProtos, kEntryIgnored);
    for (const Pair p : {Pair{kAlgoRing, kProtoLL}, Pair{kAlgoRing, kProtoSimple}})
      table[static_cast<size_t>(p.algo) * kProtos + static_cast<size_t>(p.proto)] = 40 * scale;
    if (func == kFuncAllReduce) table[kAlgoTree * kProtos + kProtoSimple] = 50 * scale;
    const PairSet possible = CostTable(rows(table), kAlgos, kProtos).possible();
    Choice c;
    EXPECT_EQ(ncclTunerPlugin_v6.getCollInfo(tuner_, func, bytes, 1, rows(table), kAlgos, kProtos,
                                             0, &c.nChannels),
              Result::kSuccess);
    EXPECT_EQ(CostTable(rows(table), kAlgos, kProtos).possible(), possible);
    c.pair = CostTable(rows(table), kAlgos, kProtos).least();
    c.chunk = 1 << 19;
    EXPECT_EQ(ncclTunerPlugin_v6.getChunkSize(tuner_, func, bytes, c.pair.algo, c.pair.proto, 1,
                                              &c.chunk),
              Result::kSuccess);
    EXPECT_GE(c.chunk, chunkGrain(c.pair.proto));
    if (stamped) launch(func, bytes, c);
    return c;
  }

  /// Whether NCCL is to stamp channels just now.
  [[nodiscard]] static bool sampled() {
    return (__atomic_load_n(&mask_, __ATOMIC_RELAXED) & kEventKernelCh) != 0;
  }

 private:
  static CostRows rows(std::vector<float>& table) {
    return reinterpret_cast<CostRows>(table.data());
  }

  void launch(Func func, size_t bytes, const Choice& c) {
    const char* const kFuncNames[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                      "AllReduce"};
    const char* const kAlgoNames[] = {"TREE", "RING"};
    const char* const kProtoNames[] = {"LL", "LL128", "SIMPLE"};
    EventV6 coll{};
    coll.kind = kEventColl;
    coll.rank = rank_;
    const size_t share = func == kFuncAllGather ? static_cast<size_t>(nRanks_) : 1;
    coll.coll.func = kFuncNames[func];
    coll.coll.count = bytes / share;
    coll.coll.dtype = "ncclInt8";
    coll.coll.nChannels = 2;
    coll.coll.algo = kAlgoNames[c.pair.algo];
    coll.coll.proto = kProtoNames[c.pair.proto];
    void* handle = nullptr;
    EXPECT_EQ(ncclProfiler_v6.startEvent(profiler_, &handle, &coll), Result::kSuccess);
    EXPECT_EQ(ncclProfiler_v6.stopEvent(handle), Result::kSuccess);
    clock_ += 50000;
    // Ranks come at different times: each waits for the last one, which waits for nobody.
    const uint64_t waited = static_cast<uint64_t>((rank_ * 7 + calls_++) % nRanks_) * 500;
    for (int channel = 0; channel < 2; ++channel) {
      EventV6 ch{};
      ch.kind = kEventKernelCh;
      ch.parent = handle;
      ch.kernelCh = {static_cast<uint8_t>(channel), clock_};
      void* channelHandle = nullptr;
      EXPECT_EQ(ncclProfiler_v6.startEvent(profiler_, &channelHandle, &ch), Result::kSuccess);
      StateArgsV4 args{};
      args.kernelCh.stopTimer = clock_ + waited + modelledNs(c, bytes);
      EXPECT_EQ(ncclProfiler_v6.recordEventState(channelHandle, kStateKernelChStop, &args),
                Result::kSuccess);
      EXPECT_EQ(ncclProfiler_v6.stopEvent(channelHandle), Result::kSuccess);
    }
    clock_ += waited + modelledNs(c, bytes);
  }

  static inline int mask_ = 0;  // NCCL has one for the whole process
  int rank_, nRanks_, calls_ = 0;
  uint64_t clock_ = 1'000'000;
  void* profiler_ = nullptr;
  void* tuner_ = nullptr;
};

/// A job with a coordinator and a key, as `autoccl run` sets them.
class Ranks : public ::testing::Test {
 protected:
  void SetUp() override {
    key_ = ::testing::TempDir() + "autoccl_key_" + std::to_string(getpid());
    const int fd = open(key_.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, "0123456789abcdef0123456789abcdef", 32), 32);
    close(fd);
    setenv("AUTOCCL_COORDINATOR", ("127.0.0.1:" + std::to_string(21000 + getpid() % 8000)).c_str(),
           1);
    setenv("AUTOCCL_KEY_FILE", key_.c_str(), 1);
    setenv("AUTOCCL_BUDGET", "100", 1);
  }
  void TearDown() override {
    for (const char* name : {"AUTOCCL_COORDINATOR", "AUTOCCL_KEY_FILE", "AUTOCCL_BUDGET"})
      unsetenv(name);
    unlink(key_.c_str());
  }

  /// All choices by [rank][call]; every rank issues the same calls, in step.
  static std::vector<std::vector<Choice>> run(int nRanks, int calls, uint64_t commId) {
    std::vector<std::vector<Choice>> all(static_cast<size_t>(nRanks));
    std::barrier step(nRanks);
    std::vector<std::thread> threads;
    threads.reserve(nRanks);
    for (int rank = 0; rank < nRanks; ++rank)
      threads.emplace_back([&, rank] {
        Rank self(commId, rank, nRanks);
        for (int i = 0; i < calls; ++i) {
          step.arrive_and_wait();
          if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          const Func func = i % 3 == 2 ? kFuncAllGather : kFuncAllReduce;
          const size_t bytes = i % 3 == 1 ? 1 << 16 : 1 << 20;
          all[static_cast<size_t>(rank)].push_back(self.call(func, bytes));
        }
        step.arrive_and_wait();
      });
    for (auto& thread : threads) thread.join();
    return all;
  }

  std::string key_;
};

size_t tunedCalls(const std::vector<Choice>& calls) {
  size_t n = 0;
  for (const Choice& c : calls) n += c.nChannels != 0;
  return n;
}

TEST_F(Ranks, TwoRanksTuneAndNeverDiffer) {
  size_t tuned = 0;
  for (int times = 1; times <= 16 && tuned <= 50; times *= 4) {  // the agents act in their own time
    const auto all = run(2, 3000 * times, 0xabc + static_cast<uint64_t>(times));
    EXPECT_EQ(all[0], all[1]);
    tuned = tunedCalls(all[0]);
  }
  EXPECT_GT(tuned, 50U) << "the search has begun";
}

TEST_F(Ranks, EightRanksNeverDifferOverAThousandMixedCalls) {
  const auto all = run(8, 1000, 0xdef);
  for (size_t rank = 1; rank < all.size(); ++rank) EXPECT_EQ(all[rank], all[0]) << "rank " << rank;
}

TEST_F(Ranks, OnceEveryTaskHasConvergedTheMaskGoesDown) {
  std::atomic<bool> lowered{false};
  std::barrier step(2);
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Rank self(0x456, rank, 2);
      for (int i = 0; i < 60000; ++i) {
        step.arrive_and_wait();
        if (lowered.load()) break;
        if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        (void)self.call(kFuncAllReduce, 1 << 20);
        step.arrive_and_wait();
        if (rank == 0 && i > 500 && !Rank::sampled()) lowered.store(true);
      }
      step.arrive_and_wait();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(lowered.load());
}

TEST_F(Ranks, WithoutAMeetingPointEveryCallIsUntouched) {
  unsetenv("AUTOCCL_COORDINATOR");
  unsetenv("AUTOCCL_KEY_FILE");
  const auto all = run(2, 200, 0x123);
  EXPECT_EQ(tunedCalls(all[0]), 0U);
  EXPECT_EQ(tunedCalls(all[1]), 0U);
}

TEST_F(Ranks, SwitchedOffNothingIsTouched) {
  setenv("AUTOCCL_DISABLE", "1", 1);
  const auto all = run(2, 200, 0x124);
  unsetenv("AUTOCCL_DISABLE");
  EXPECT_EQ(tunedCalls(all[0]), 0U);
}

TEST_F(Ranks, OneRankInProbesDoesNotSetThemApart) {
  std::vector<std::vector<Choice>> all(2);
  std::barrier step(2);
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Rank self(0x777, rank, 2);
      for (int i = 0; i < 600; ++i) {
        step.arrive_and_wait();
        if (rank == 1 && i % 5 == 0) {  // ncclGroupSimulateEnd, seen by the interposer
          callNote.simulating = true;
          (void)self.call(kFuncAllReduce, 1 << 20);
          callNote.simulating = false;
        }
        if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        all[static_cast<size_t>(rank)].push_back(self.call(kFuncAllReduce, 1 << 20));
      }
      step.arrive_and_wait();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(all[0], all[1]);
}

}  // namespace
}  // namespace autoccl::nccl
