// What goes in beside the entries comes out right, at every size that does.
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/testing/ranks.h"
#include "engine/testing/sample_call.h"

namespace autoccl {
namespace {

using testing::SampleCall;

constexpr Collective kCarried[] = {Collective::kAllReduce,     Collective::kAllGather,
                                   Collective::kReduceScatter, Collective::kBroadcast,
                                   Collective::kReduce,        Collective::kAllToAll,
                                   Collective::kGather,        Collective::kScatter,
                                   Collective::kAllGatherv,    Collective::kReduceScatterv};

void runSmall(Communicator& comm, const SampleCall& sample) {
  std::vector<std::unique_ptr<std::byte[]>> memory;
  const std::string wrong = testing::runSample(
      sample, comm.rank(), sample.count % 2 == 1,
      [&](const Call& call) { return comm.execute(call, comm.issue(call)); },
      [&](size_t bytes) {
        return memory.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
      });
  ASSERT_EQ(wrong, "") << comm.failure().text;
  ASSERT_EQ(comm.lastConfig().algorithm, Algorithm::kOneShot);
}

TEST(SmallPath, CarriesEveryCollectiveOfOneToEightRanksInAndOutOfPlace) {
  for (int n = 1; n <= 8; ++n)
    testing::runAsThreads(n, [n](Communicator& comm) {
      comm.pin(parseConfig("oneshot/simple/shm c=64K wait=yield"));
      int turn = 0;
      for (const size_t count : {0, 1, 2, 15, 33, 129, 250})
        for (const Collective collective : kCarried)
          for (const bool inPlace : {false, true}) {
            SampleCall sample;
            sample.collective = collective;
            sample.dtype = static_cast<DataType>(++turn % kDataTypes);
            sample.nRanks = n;
            sample.root = turn % n;
            sample.count = count;
            sample.inPlace = inPlace;
            runSmall(comm, sample);
            if (::testing::Test::HasFatalFailure()) return;
          }
    });
}

TEST(SmallPath, ReducesEveryTypeWithEveryOperationUpToItsLimit) {
  testing::runAsThreads(2, [](Communicator& comm) {
    comm.pin(parseConfig("oneshot/simple/shm c=64K wait=yield"));
    for (int type = 0; type < kDataTypes; ++type)
      for (int op = 0; op < kReduceOps; ++op) {
        SampleCall sample;
        sample.collective = type % 2 ? Collective::kReduceScatter : Collective::kAllReduce;
        sample.dtype = static_cast<DataType>(type);
        sample.op = static_cast<ReduceOp>(op);
        sample.nRanks = 2;
        sample.count = kSmallBytes / sizeOf(sample.dtype) / (type % 2 ? 2 : 1);
        runSmall(comm, sample);
        if (::testing::Test::HasFatalFailure()) return;
      }
  });
}

TEST(SmallPath, EndsWhereAContributionNoLongerFits) {
  CallShape shape;
  shape.nRanks = 4;
  shape.bytes = kSmallBytes;
  shape.collective = Collective::kAllGather;
  EXPECT_TRUE(fitsSmall(shape, 4 * kSmallBytes));
  shape.bytes += 4;
  EXPECT_FALSE(fitsSmall(shape, 4 * shape.bytes));
  shape.collective = Collective::kAllToAll;
  EXPECT_TRUE(fitsSmall(shape, kSmallBytes));
  EXPECT_FALSE(fitsSmall(shape, kSmallBytes + 4));
  shape.collective = Collective::kAllToAllv;
  EXPECT_FALSE(fitsSmall(shape, 64));
}

}  // namespace
}  // namespace autoccl
