// Every path of a communicator against what each collective is defined to give.
#include "engine/communicator.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/testing/ranks.h"
#include "engine/testing/sample_call.h"
#include "transport/regions.h"

namespace autoccl {
namespace {

using testing::SampleCall;

constexpr Collective kAll[] = {
    Collective::kAllReduce,  Collective::kAllGather,     Collective::kReduceScatter,
    Collective::kBroadcast,  Collective::kReduce,        Collective::kAllToAll,
    Collective::kGather,     Collective::kScatter,       Collective::kAllToAllv,
    Collective::kAllGatherv, Collective::kReduceScatterv};

constexpr const char* kDirectPaths[] = {"oneshot/simple/shm", "twoshot/simple/shm",
                                        "twoshot/simple/cma", "twoshot/zero/shm",
                                        "oneshot/zero/shm"};

/// Ordinary or shared memory that lives as long as the object.
class Arena {
 public:
  explicit Arena(bool shared) : shared_(shared) {}
  ~Arena() {
    for (void* p : all_)
      shared_ ? static_cast<void>(Regions::ofProcess().release(p)) : std::free(p);
  }
  void* operator()(size_t bytes) {
    all_.push_back(shared_ ? Regions::ofProcess().allocate(bytes) : std::malloc(bytes));
    return all_.back();
  }

 private:
  const bool shared_;
  std::vector<void*> all_;
};

void check(Communicator& comm, const SampleCall& sample, bool unaligned, bool shared,
           const std::string& where) {
  Arena arena(shared);
  const std::string wrong = testing::runSample(
      sample, comm.rank(), unaligned,
      [&](const Call& call) { return comm.execute(call, comm.issue(call)); },
      [&](size_t bytes) { return arena(bytes); });
  ASSERT_EQ(wrong, "") << where << " in effect " << toText(comm.lastConfig()) << "; "
                       << comm.failure().text;
}

/// All collectives with odd, zero and larger counts, in and out of place, at odd addresses.
void checkCollectives(Communicator& comm, bool shared, const std::string& where) {
  int turn = 0;
  for (const Collective collective : kAll)
    for (const size_t count : {0, 1, 37, 5003}) {
      SampleCall sample;
      sample.collective = collective;
      sample.dtype = ++turn % 2 ? DataType::kFloat32 : DataType::kInt16;
      sample.nRanks = comm.size();
      sample.root = turn % comm.size();
      sample.count = count;
      sample.inPlace = turn % 3 == 0;
      check(comm, sample, turn % 5 == 0, shared, where);
      if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST(Communicator, EveryDirectPathCarriesEveryCollectiveOfOneToEightThreads) {
  for (int n = 1; n <= 8; ++n)
    testing::runAsThreads(n, [](Communicator& comm) {
      for (const char* path : kDirectPaths)
        for (const char* rest : {" nc=1 nt=1 c=4K wait=yield", " nc=2 nt=2 c=1K wait=futex"}) {
          comm.pin(parseConfig(std::string(path) + rest));
          checkCollectives(comm, false, std::string(path) + rest);
          if (::testing::Test::HasFatalFailure()) return;
        }
    });
}

TEST(Communicator, EveryPlanCarriesWhatItsSpaceOffers) {
  for (const int n : {2, 3, 5, 8})
    testing::runAsThreads(n, [](Communicator& comm) {
      for (const Collective collective : kAll) {
        Task task;
        task.collective = collective;
        task.nRanks = comm.size();
        const Space space = comm.spaceFor(task);
        for (const Subspace& s : space.subspaces) {
          const Config config{
              s.algorithm, s.protocol, s.transport, static_cast<uint8_t>(WaitPolicy::kYield),
              2,           1,          8192};
          if (!isPlanned(s.algorithm) || s.extra != 0 || !space.valid(config)) continue;
          comm.pin(config);
          SampleCall sample;
          sample.collective = collective;
          sample.nRanks = comm.size();
          sample.root = comm.size() - 1;
          for (const size_t count : {0, 1, 37, 9001}) {
            sample.count = count;
            sample.inPlace = count % 2 == 0;
            check(comm, sample, false, false, toText(config));
            if (::testing::Test::HasFatalFailure()) return;
            ASSERT_EQ(comm.lastConfig(), config);
          }
        }
      }
    });
}

TEST(Communicator, ReducesEveryTypeWithEveryOperation) {
  testing::runAsThreads(3, [](Communicator& comm) {
    for (const char* path : kDirectPaths) {
      comm.pin(parseConfig(std::string(path) + " c=1K wait=yield"));
      for (int type = 0; type < kDataTypes; ++type)
        for (int op = 0; op < kReduceOps; ++op)
          for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter}) {
            SampleCall sample;
            sample.collective = collective;
            sample.dtype = static_cast<DataType>(type);
            sample.op = static_cast<ReduceOp>(op);
            sample.nRanks = 3;
            sample.count = 300;
            check(comm, sample, false, false, path);
            if (::testing::Test::HasFatalFailure()) return;
          }
    }
  });
}

#ifndef __SANITIZE_THREAD__  // which does not follow forked processes
TEST(Communicator, ProcessesAgreeOnAPathWhateverTheirBuffersAre) {
  for (const int n : {2, 4}) {
    const auto statuses = testing::runAsProcesses(n, [](Communicator& comm) {
      for (const char* path : kDirectPaths) {
        comm.pin(parseConfig(std::string(path) + " c=4K wait=yield"));
        checkCollectives(comm, true, std::string(path) + ", all registered");
        checkCollectives(comm, false, std::string(path) + ", all ordinary");
        checkCollectives(comm, comm.rank() % 2 == 0, std::string(path) + ", some registered");
        if (::testing::Test::HasFatalFailure()) return;
      }
      comm.pin(std::nullopt);
      checkCollectives(comm, true, "default");
    });
    EXPECT_EQ(statuses, std::vector<int>(static_cast<size_t>(n), 0));
  }
}
#endif

#ifndef __SANITIZE_THREAD__  // which does not follow forked processes
TEST(Communicator, RegisteredBuffersOfProcessesTakeTheZeroCopyPath) {
  const auto statuses = testing::runAsProcesses(2, [](Communicator& comm) {
    SampleCall sample;
    sample.nRanks = 2;
    sample.count = 100000;
    check(comm, sample, false, true, "default");
    EXPECT_EQ(comm.lastConfig().protocol, Protocol::kZero);
    check(comm, sample, false, false, "default");
    EXPECT_EQ(comm.lastConfig().protocol, Protocol::kSimple);
  });
  EXPECT_EQ(statuses, std::vector<int>(2, 0));
}
#endif

}  // namespace
}  // namespace autoccl
