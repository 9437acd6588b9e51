// Where the engine is not to be had, and what it does when a peer goes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "direct/image.h"
#include "direct/testing/ranks.h"

namespace autoccl::direct {
namespace {

using testing::RankView;

/// An environment variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

void expectRefused(const char* variable, const char* value, const std::string& reason) {
  const Variable set(variable, value);
  const auto why = testing::refusals(2);
  for (const std::string& text : why) {
    EXPECT_NE(text.find(reason), std::string::npos) << text;
    EXPECT_EQ(text, why[0]) << "one reason for all ranks";
  }
}

TEST(Refusal, OneQueueForAllStreams) {
  expectRefused("CUDA_DEVICE_MAX_CONNECTIONS", "1", "CUDA_DEVICE_MAX_CONNECTIONS=1");
}
TEST(Refusal, AGpuThatDiffers) {
  expectRefused("CUDA_DOUBLE_OTHER", "1", "differ");
}
TEST(Refusal, ASliceOfAGpu) {
  expectRefused("CUDA_DOUBLE_MIG", "1", "MIG slice");
}
TEST(Refusal, TooLittleMemory) {
  expectRefused("CUDA_DOUBLE_FREE_MIB", "3", "AUTOCCL_DIRECT_MEMORY");
}
TEST(Refusal, MemoryThatCannotBeShared) {
  expectRefused("CUDA_DOUBLE_NO_IPC", "1", "cannot be shared");
}
TEST(Refusal, NoPeerAccess) {
  expectRefused("CUDA_DOUBLE_NO_PEERS", "1", "no peer access");
}
TEST(Refusal, ABuildWithoutKernels) {
  testing::useDevice(0);
  Seat seat = testing::seatOf(newUniqueId(), 0, 1);
  EXPECT_ANY_THROW((void)Group::open(seat)) << "one rank is no group";
  EXPECT_THROW(Kernels(testing::cuda(), {}), Error);
}

/// Ranks in processes of their own; gives their exit statuses. `body` returns one.
template <class Body>
std::vector<int> runProcesses(int nRanks, const Body& body) {
  const UniqueId meeting = newUniqueId();
  std::vector<pid_t> children;
  for (int rank = 0; rank < nRanks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      int status = 99;
      try {
        testing::useDevice(rank);
        status = body(rank, *Group::open(testing::seatOf(meeting, rank, nRanks)));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
      std::_Exit(status);
    }
    children.push_back(pid);
  }
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return statuses;
}

TEST(Processes, RanksInProcessesOfTheirOwnReachEachOther) {
  const auto statuses = runProcesses(3, [](int rank, Group& group) {
    testing::Sample s;
    s.call.count = 20000;
    s.nRanks = 3;
    testing::Buffer send(s.call.count * 4), recv(s.call.count * 4);
    s.fill(rank, send.data());
    std::string why;
    if (!group.share(send.data(), s.call.count * 4, why)) return 3;
    if (!group.share(recv.data(), s.call.count * 4, why)) return 4;
    const Task task{0, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 3, 80000, 0};
    for (const Subspace& sub : group.spaceFor(task, true).subspaces) {
      Call call = s.call;
      call.send = send.data();
      call.recv = recv.data();
      call.stream = testing::newStream();
      std::fill_n(recv.data(), s.call.count * 4, '\x7f');
      if (group.run(call, sub.at(1, 0, 0)) != Outcome::kDone) return 5;
      testing::cuda().streamSynchronize(call.stream);
      if (!s.check(rank, recv.data()).empty()) return 6;
    }
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0, 0}));
}

/// Rank 1 dies when rank 0 waits for it on its stream.
class Death : public ::testing::TestWithParam<Config> {};
INSTANTIATE_TEST_SUITE_P(Waits, Death,
                         ::testing::Values(Config{Algorithm::kOneShot, Protocol::kLL,
                                                  Transport::kP2p, 0, 2, 64, 0},
                                           Config{Algorithm::kTwoShot, Protocol::kSimple,
                                                  Transport::kP2p, 0, 2, 64, 4096},
                                           Config{Algorithm::kTwoShot, Protocol::kSimple,
                                                  Transport::kCe, 0, 2, 64, 4096}));

TEST_P(Death, OfAPeerEndsTheWaitsOnTheStream) {
  const Config config = GetParam();
  const auto statuses = runProcesses(2, [&](int rank, Group& group) {
    if (rank == 1) {
      usleep(100'000);
      raise(SIGKILL);
    }
    testing::Buffer send(40000), recv(40000);
    Call call;
    call.count = 10000;
    call.send = send.data();
    call.recv = recv.data();
    call.stream = testing::newStream();
    if (group.run(call, config) != Outcome::kDone) return 3;
    testing::cuda().streamSynchronize(call.stream);  // ends
    for (int i = 0; i < 1000 && *group.broken() == '\0'; ++i) usleep(1000);
    if (*group.broken() == '\0') return 4;
    return group.run(call, config) == Outcome::kFailed ? 0 : 5;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 128 + SIGKILL}));
}

TEST(Stop, EndsTheWaitsOfItsRank) {
  testing::runRanks(2, [](RankView& v) {
    if (v.rank == 1) return;
    testing::Buffer send(400), recv(400);
    Call call;
    call.count = 100;
    call.send = send.data();
    call.recv = recv.data();
    call.stream = v.stream;
    const Task task{0, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 2, 400, 0};
    ASSERT_EQ(v.group->run(call, v.group->defaultFor(task)), Outcome::kDone);
    v.group->stop();
    v.synchronize();
    EXPECT_STREQ(v.group->broken(), "the communicator was aborted");
  });
}

}  // namespace
}  // namespace autoccl::direct
