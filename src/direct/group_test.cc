// The engine on the driver's double: the same plans, kernels and stream operations as on a GPU.
#include "direct/group.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <thread>

#include "direct/testing/ranks.h"

namespace autoccl::direct {
namespace {

using testing::Buffer;
using testing::RankView;
using testing::Sample;

const Config kConfigs[] = {
    {Algorithm::kOneShot, Protocol::kLL, Transport::kP2p, 0, 3, 64, 0},
    {Algorithm::kOneShot, Protocol::kLL128, Transport::kP2p, 0, 3, 64, 0},
    {Algorithm::kOneShot, Protocol::kSimple, Transport::kP2p, 0, 3, 64, 4096},
    {Algorithm::kTwoShot, Protocol::kSimple, Transport::kP2p, 0, 3, 64, 4096},
    {Algorithm::kOneShot, Protocol::kZero, Transport::kP2p, 0, 3, 64, 0},
    {Algorithm::kTwoShot, Protocol::kZero, Transport::kP2p, 0, 3, 64, 0},
    {Algorithm::kOneShot, Protocol::kSimple, Transport::kCe, 0, 2, 64, 4096},
    {Algorithm::kTwoShot, Protocol::kSimple, Transport::kCe, 0, 2, 64, 4096},
    {Algorithm::kOneShot, Protocol::kZero, Transport::kCe, 0, 2, 64, 0},
};
constexpr Collective kOurs[] = {Collective::kAllReduce, Collective::kAllGather,
                                Collective::kReduceScatter, Collective::kBroadcast,
                                Collective::kAllToAll};
constexpr DataType kTypes[] = {DataType::kInt8,    DataType::kUint8,      DataType::kInt32,
                               DataType::kUint32,  DataType::kInt64,      DataType::kUint64,
                               DataType::kFloat16, DataType::kBfloat16,   DataType::kFloat32,
                               DataType::kFloat64, DataType::kFloat8e4m3, DataType::kFloat8e5m2};

/// How many elements in front of the data: nothing but the element's size is aligned.
struct Layout {
  bool inPlace = false;
  uint64_t shift = 0;
};

/// The buffers of one call on one rank, within memory that is shared if the config asks for it.
class Prepared {
 public:
  Prepared(const RankView& view, const Sample& sample, const Config& config, Layout layout)
      : sample_(sample), rank_(view.rank) {
    const uint64_t element = sizeOf(sample.call.dtype), shift = layout.shift * element;
    const uint64_t most = (std::max(sample.sendCount(), sample.recvCount()) + 16) * element;
    send_ = std::make_unique<Buffer>(most);
    recv_ = std::make_unique<Buffer>(most);
    call = sample.call;
    call.stream = view.stream;
    call.recv = recv_->data() + shift;
    call.send = layout.inPlace ? inPlaceSend(element) : send_->data() + shift;
    sample.fill(view.rank, const_cast<char*>(static_cast<const char*>(call.send)));
    if (config.protocol != Protocol::kZero) return;
    std::string why;
    for (const Buffer* b : {send_.get(), recv_.get()})
      EXPECT_TRUE(view.group->share(b->data(), most, why)) << why;
    group_ = view.group;
  }
  ~Prepared() {
    if (group_ == nullptr) return;
    group_->unshare(send_->data());
    group_->unshare(recv_->data());
  }
  [[nodiscard]] std::string check() const {
    return sample_.check(rank_, static_cast<const char*>(call.recv));
  }

  Call call;

 private:
  /// Where NCCL says that the input is in place.
  [[nodiscard]] char* inPlaceSend(uint64_t element) const {
    auto* recv = static_cast<char*>(call.recv);
    if (call.collective == Collective::kAllGather)
      return recv + static_cast<uint64_t>(rank_) * call.count * element;
    return recv;
  }
  Sample sample_;
  int rank_;
  std::unique_ptr<Buffer> send_, recv_;
  Group* group_ = nullptr;
};

Sample sampleOf(Collective collective, DataType type, ReduceOp op, uint64_t count, int nRanks) {
  Sample s;
  s.call.collective = collective;
  s.call.dtype = type;
  s.call.op = op;
  s.call.count = count;
  s.call.root = nRanks - 1;
  s.call.scale = 2;
  s.nRanks = nRanks;
  return s;
}

/// All calls of all ranks that a test names, one after another. `run` gives what Group::run must.
void callOnce(const RankView& view, const Sample& sample, const Config& config,
              Layout layout = {}) {
  Prepared p(view, sample, config, layout);
  ASSERT_EQ(view.group->run(p.call, config), Outcome::kDone) << toText(config);
  view.synchronize();
  EXPECT_EQ(p.check(), "") << toText(config);
}

class Ranks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Group, Ranks, ::testing::Values(2, 3, 8),
                         [](const auto& p) { return "x" + std::to_string(p.param); });

TEST_P(Ranks, EveryCollectiveIsRightInEveryConfigAndSize) {
  testing::runRanks(GetParam(), [](RankView& v) {
    for (const Config& config : kConfigs)
      for (const Collective c : kOurs) {
        if (!suits(c, config)) continue;
        for (const uint64_t count : {1, 7, 1000, 5003})
          callOnce(v, sampleOf(c, DataType::kFloat32, ReduceOp::kSum, count, v.nRanks), config);
      }
  });
}

TEST_P(Ranks, ChunksBeyondTheSlotsWaitUntilOneIsDrained) {
  testing::runRanks(GetParam(), [](RankView& v) {
    std::mt19937 own(static_cast<unsigned>(v.rank));
    for (int round = 0; round < 3; ++round)
      for (const Config& config : kConfigs)
        for (const Collective c : kOurs) {
          if (!suits(c, config) || config.protocol != Protocol::kSimple) continue;
          std::this_thread::sleep_for(std::chrono::microseconds(own() % 2000));
          callOnce(v, sampleOf(c, DataType::kInt32, ReduceOp::kMax, 100'003, v.nRanks), config);
        }
  });
}

TEST_P(Ranks, EveryTypeAndOperationIsRightInEveryConfig) {
  testing::runRanks(GetParam(), [](RankView& v) {
    for (const Config& config : kConfigs)
      for (const Collective c : {Collective::kAllReduce, Collective::kReduceScatter}) {
        if (!suits(c, config)) continue;
        for (const DataType type : kTypes)
          for (const ReduceOp op :
               {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kAvg})
            callOnce(v, sampleOf(c, type, op, 97, v.nRanks), config);
      }
  });
}

TEST_P(Ranks, BytesOfEveryTypeAreMovedAtAnyAlignmentAndInPlace) {
  testing::runRanks(GetParam(), [](RankView& v) {
    for (const Config& config : kConfigs)
      for (const Collective c : kOurs) {
        if (!suits(c, config)) continue;
        for (const DataType type : {DataType::kInt8, DataType::kBfloat16, DataType::kFloat64})
          for (const uint64_t shift : {0, 1}) {
            callOnce(v, sampleOf(c, type, ReduceOp::kSum, 1001, v.nRanks), config, {false, shift});
            const bool can = c != Collective::kAllToAll && c != Collective::kReduceScatter;
            if (can)
              callOnce(v, sampleOf(c, type, ReduceOp::kSum, 1001, v.nRanks), config, {true, shift});
          }
      }
  });
}

TEST_P(Ranks, ReduceScatterIsRightInPlace) {
  testing::runRanks(GetParam(), [](RankView& v) {
    for (const Config& config : kConfigs) {
      if (!suits(Collective::kReduceScatter, config) || config.protocol == Protocol::kZero)
        continue;
      const Sample s =
          sampleOf(Collective::kReduceScatter, DataType::kFloat32, ReduceOp::kSum, 999, v.nRanks);
      Prepared p(v, s, config, {});
      p.call.recv = const_cast<char*>(static_cast<const char*>(p.call.send)) +
                    static_cast<uint64_t>(v.rank) * s.call.count * sizeof(float);
      ASSERT_EQ(v.group->run(p.call, config), Outcome::kDone);
      v.synchronize();
      EXPECT_EQ(p.check(), "") << toText(config);
    }
  });
}

TEST_P(Ranks, EachRanksScalarMultipliesItsValues) {
  testing::runRanks(GetParam(), [](RankView& v) {
    for (const Config& config : kConfigs) {
      const Sample s = sampleOf(Collective::kAllReduce, DataType::kBfloat16, ReduceOp::kScaledSum,
                                333, v.nRanks);
      if (!suits(s.call.collective, config)) continue;
      if (config.transport == Transport::kCe || config.protocol == Protocol::kZero) {
        Prepared p(v, s, {}, {});
        EXPECT_EQ(v.group->run(p.call, config), Outcome::kUnsuited) << toText(config);
      } else {
        callOnce(v, s, config);
      }
    }
  });
}

TEST_P(Ranks, CallsThatFollowEachOtherWithoutAWaitKeepApart) {
  testing::runRanks(GetParam(), [](RankView& v) {
    std::mt19937 chance(17);  // the same on all ranks
    std::mt19937 own(static_cast<unsigned>(v.rank));
    const CudaStream streams[] = {v.stream, testing::newStream()};
    std::deque<Prepared> calls;
    for (int i = 0; i < 150; ++i) {
      const Config& config = kConfigs[chance() % std::size(kConfigs)];
      Sample s = sampleOf(kOurs[chance() % std::size(kOurs)], DataType::kBfloat16, ReduceOp::kMax,
                          1 + chance() % 6000, v.nRanks);
      s.call.root = static_cast<int>(chance() % static_cast<unsigned>(v.nRanks));
      s.seed = chance();
      const CudaStream stream = streams[chance() % 2];
      if (!suits(s.call.collective, config) || config.protocol == Protocol::kZero) continue;
      Prepared& p = calls.emplace_back(v, s, config, Layout{});
      p.call.stream = stream;
      ASSERT_EQ(v.group->run(p.call, config), Outcome::kDone);
      if (own() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 500));
    }
    for (const CudaStream stream : streams) testing::cuda().streamSynchronize(stream);
    for (const Prepared& p : calls) EXPECT_EQ(p.check(), "");
    testing::cuda().streamDestroy(streams[1]);
  });
}

TEST(Group, ResultsHaveTheSameBitsInEveryConfigAndOnEveryRank) {
  constexpr uint64_t kCount = 3000;
  std::vector<std::vector<char>> results(std::size(kConfigs) * 4);
  testing::runRanks(4, [&](RankView& v) {
    for (size_t i = 0; i < std::size(kConfigs); ++i) {
      if (!suits(Collective::kAllReduce, kConfigs[i])) continue;
      const Sample s =
          sampleOf(Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, kCount, v.nRanks);
      Prepared p(v, s, kConfigs[i], {});
      std::mt19937 chance(static_cast<unsigned>(v.rank));
      auto* send = const_cast<char*>(static_cast<const char*>(p.call.send));
      for (uint64_t at = 0; at < kCount; ++at)  // values whose sums round
        testing::setElementAt(DataType::kFloat32, send, at, double(chance()) / 1e9 - 2);
      ASSERT_EQ(v.group->run(p.call, kConfigs[i]), Outcome::kDone);
      v.synchronize();
      const auto* recv = static_cast<const char*>(p.call.recv);
      results[i * 4 + size_t(v.rank)].assign(recv, recv + kCount * sizeof(float));
    }
  });
  std::erase_if(results, [](const auto& result) { return result.empty(); });
  ASSERT_GE(results.size(), 16u);
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST(Group, NothingIsDoneForNoElements) {
  testing::runRanks(2, [](RankView& v) {
    for (const Config& config : kConfigs)
      for (const Collective c : kOurs)
        if (suits(c, config) && config.protocol != Protocol::kZero) {
          Call call = sampleOf(c, DataType::kFloat32, ReduceOp::kSum, 0, 2).call;
          call.stream = v.stream;
          EXPECT_EQ(v.group->run(call, config), Outcome::kDone);
        }
  });
}

TEST(Group, WhatAConfigCannotRunIsLeftAloneOnAllRanks) {
  testing::runRanks(2, [](RankView& v) {
    Call call =
        sampleOf(Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 8 << 20, 2).call;
    EXPECT_EQ(v.group->run(call, kConfigs[0]), Outcome::kUnsuited) << "too long for lines";
    call.count = 10;
    EXPECT_EQ(v.group->run(call, kConfigs[5]), Outcome::kUnsuited) << "not in shared memory";
    call.dtype = DataType::kInt16;
    EXPECT_EQ(v.group->run(call, kConfigs[3]), Outcome::kUnsuited) << "no type of NCCL's";
    call.collective = Collective::kGather;
    EXPECT_EQ(v.group->run(call, kConfigs[3]), Outcome::kUnsuited);
  });
}

TEST(Group, EveryConfigOfTheSpaceRunsAndTheDefaultIsOne) {
  testing::runRanks(2, [](RankView& v) {
    for (const Collective c : kOurs)
      for (const uint64_t count : {100, 40000}) {
        const Sample s = sampleOf(c, DataType::kFloat32, ReduceOp::kSum, count, 2);
        Task task;
        task.collective = c;
        task.nRanks = 2;
        task.bytes = std::max(s.sendCount(), s.recvCount()) * sizeof(float);
        const Space space = v.group->spaceFor(task, false);
        ASSERT_FALSE(space.subspaces.empty());
        EXPECT_TRUE(space.valid(space.fallback)) << toText(space.fallback);
        callOnce(v, s, space.fallback);
        for (const Subspace& sub : space.subspaces) {
          const Config last =
              sub.at(sub.channels.size() - 1, sub.threads.size() - 1, sub.chunks.size() - 1);
          for (const Config& config : {sub.at(0, 0, 0), last})
            if (space.valid(config)) callOnce(v, s, config);
        }
      }
  });
}

}  // namespace
}  // namespace autoccl::direct
