// Releases whose plugins are not told who they are: the interposer is, and times the calls too.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "edge/nccl/identity.h"
#include "edge/nccl/pairs.h"
#include "edge/nccl/testing/plugins.h"

namespace autoccl::nccl {
namespace {

/// A tuner of version 1 to 4, as its NCCL calls it inside a wrapped call.
class OldRank {
 public:
  OldRank(int version, int rank, uint16_t job) : version_(version) {
    known_.rank = rank;
    known_.nRanks = 2;
    known_.hasId = true;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(job);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(known_.uniqueId.data() + 8, &address, sizeof address);
    callNote = {};
    callNote.initialising = &known_;
    switch (version) {
      case 1:
        EXPECT_EQ(ncclTunerPlugin_v1.init(2, 1, nullptr), Result::kSuccess);
        break;
      case 2:
        EXPECT_EQ(ncclTunerPlugin_v2.init(2, 1, nullptr, &context_), Result::kSuccess);
        break;
      case 3:
        EXPECT_EQ(ncclTunerPlugin_v3.init(2, 1, nullptr, &context_), Result::kSuccess);
        break;
      default:
        EXPECT_EQ(ncclTunerPlugin_v4.init(2, 1, nullptr, &context_), Result::kSuccess);
    }
    callNote = {};
  }
  ~OldRank() {
    pluginSide.load()->endCommunicator(known_);
    if (version_ == 2) (void)ncclTunerPlugin_v2.destroy(context_);
    if (version_ == 3) (void)ncclTunerPlugin_v3.destroy(context_);
    if (version_ == 4) (void)ncclTunerPlugin_v4.destroy(context_);
  }
  OldRank(const OldRank&) = delete;
  OldRank& operator=(const OldRank&) = delete;

  Pair call(size_t bytes) {
    callNote = {};
    callNote.communicator = &known_;
    const Pair pair = ask(bytes);
    const CallNote note = callNote;
    callNote = {};
    if (note.decisions == 1 && note.measure && known_.wantsTimes) {
      const int64_t took = pair.algo == kAlgoTree ? 20000 : 50000;
      pluginSide.load()->reportStreamTime(
          known_, {note.taskKey, note.callIndex, note.asked, took, nowNs()});
    }
    return pair;
  }

 private:
  /// NCCL's own choice is Ring with Simple.
  Pair ask(size_t bytes) {
    Pair p;
    int nChannels = 0;
    if (version_ <= 2) {
      const Result r = version_ == 1
                           ? ncclTunerPlugin_v1.getCollInfo(kFuncAllReduce, bytes, 0, 0, 1, &p.algo,
                                                            &p.proto, &nChannels)
                           : ncclTunerPlugin_v2.getCollInfo(context_, kFuncAllReduce, bytes, 0, 0,
                                                            1, &p.algo, &p.proto, &nChannels);
      EXPECT_EQ(r, Result::kSuccess);
      EXPECT_EQ(p.algo < 0, p.proto < 0) << "both or none";
      return p.algo < 0 ? Pair{kAlgoRing, kProtoSimple} : p;
    }
    std::vector<float> table(6 * 3, kEntryIgnored);
    table[kAlgoRing * 3 + kProtoSimple] = 10;
    table[kAlgoTree * 3 + kProtoLL] = 30;
    auto* rows = reinterpret_cast<CostRows>(table.data());
    const Result r = version_ == 3 ? ncclTunerPlugin_v3.getCollInfo(context_, kFuncAllReduce, bytes,
                                                                    1, rows, 6, 3, &nChannels)
                                   : ncclTunerPlugin_v4.getCollInfo(context_, kFuncAllReduce, bytes,
                                                                    1, rows, 6, 3, 0, &nChannels);
    EXPECT_EQ(r, Result::kSuccess);
    return table[kAlgoTree * 3 + kProtoLL] == 0 ? Pair{kAlgoTree, kProtoLL}
                                                : Pair{kAlgoRing, kProtoSimple};
  }

  int version_;
  void* context_ = nullptr;
  KnownCommunicator known_;
};

class OldReleases : public ::testing::TestWithParam<int> {};

TEST_P(OldReleases, TuneByWhatTheInterposerKnows) {
  setenv("AUTOCCL_BUDGET", "100", 1);
  std::vector<std::vector<Pair>> all(2);
  std::barrier step(2);
  std::atomic<int> stopAt = 30000;  // however slowly the agents get their turn
  const auto tree = [](const Pair& p) { return p.algo == kAlgoTree; };
  const auto trees = [&] { return std::count_if(all[0].begin(), all[0].end(), tree); };
  std::vector<std::thread> threads;
  const auto job = static_cast<uint16_t>(getpid() % 20000 + GetParam());
  threads.reserve(2);
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      OldRank self(GetParam(), rank, job);
      for (int i = 0; i < stopAt; ++i) {
        step.arrive_and_wait();
        if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        all[static_cast<size_t>(rank)].push_back(self.call(1 << 20));
        if (rank == 0 && i >= 1500 && i % 100 == 0 && trees() > 20) stopAt = i + 2;
      }
      step.arrive_and_wait();
    });
  for (auto& thread : threads) thread.join();
  unsetenv("AUTOCCL_BUDGET");
  EXPECT_EQ(all[0], all[1]);
  EXPECT_GT(trees(), 20) << "the faster one is found";
}

INSTANTIATE_TEST_SUITE_P(V, OldReleases, ::testing::Range(1, 5));

}  // namespace
}  // namespace autoccl::nccl
