// What a wrapped call costs in kind: no allocation, no lock, no system call, tuned or not.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "edge/nccl/testing/counted.h"
#include "edge/preload/watcher.h"
#include "tests/preload/wrapped.h"

namespace autoccl::preload {
namespace {

using autoccl::testing::Counted;
using autoccl::testing::countsOf;

class HotPath : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef AUTOCCL_SANITIZED
    GTEST_SKIP() << "a sanitizer allocates, locks and enters the kernel by itself";
#endif
    setenv("AUTOCCL_TUNE", "1", 1);
    setFake(nullptr);
    ASSERT_EQ(ncclCommInitRank(&comm_, 2, UniqueId{}, 0), kSuccess);
    // A task's row is claimed at its first call.
    reduce();
  }
  void reduce() {
    ncclAllReduce(nullptr, nullptr, 4096, kFloat32, kSum, comm_, nullptr);
  }
  static void expectNothing(const Counted& counted) {
    ASSERT_TRUE(counted.possible) << "this kernel refuses seccomp filters";
    EXPECT_EQ(counted.allocations, 0u);
    EXPECT_EQ(counted.locks, 0u);
    EXPECT_EQ(counted.systemCalls, 0);
  }
  Comm comm_ = nullptr;
};

TEST_F(HotPath, AWrappedCallMakesNoAllocationLockOrSystemCall) {
  ASSERT_NE(Watcher::get(), nullptr);
  expectNothing(countsOf([this] { reduce(); }));
}

TEST_F(HotPath, AGroupMakesNone) {
  expectNothing(countsOf([this] {
    ncclGroupStart();
    reduce();
    ncclSend(nullptr, 1, kFloat32, 1, comm_, nullptr);
    ncclGroupEnd();
  }));
}

TEST_F(HotPath, AnUntunedCallMakesNone) {
  const pid_t child = fork();  // where every call is passed on
  if (child == 0) {
    const Counted counted = countsOf([this] { reduce(); });
    const bool none = counted.allocations == 0 && counted.locks == 0 && counted.systemCalls == 0;
    _exit(Watcher::get() == nullptr && counted.possible && none ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(HotPath, TheCountersCount) {
  const Counted counted = countsOf([this] {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    const int* made = new int(static_cast<int>(syscall(SYS_getppid)));
    asm volatile("" : : "r"(made) : "memory");  // or an optimizer leaves both out
    delete made;
    reduce();
  });
  EXPECT_EQ(counted.locks, 1000u);
  EXPECT_EQ(counted.allocations, 1000u);
  EXPECT_EQ(counted.systemCalls, 1000);
}

}  // namespace
}  // namespace autoccl::preload
