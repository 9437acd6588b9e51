// What a wrapped call costs in kind: no allocation, no lock, no system call, tuned or not.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>

#include "edge/preload/watcher.h"
#include "tests/preload/wrapped.h"

namespace {
thread_local uint64_t allocations = 0;
thread_local uint64_t locks = 0;
thread_local volatile sig_atomic_t systemCalls = 0;
}  // namespace

#ifndef AUTOCCL_SANITIZED  // the sanitizers have their own
// Counts every allocation of this test program; the array forms come by here.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept {
  std::free(p);
}

// Counts every lock of this test program.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return real(mutex);
}
#endif

namespace autoccl::preload {
namespace {

/// From here on every system call of this thread fails and is counted, but for what ends a thread.
bool countSystemCalls() {
  struct sigaction action {};
  action.sa_sigaction = [](int, siginfo_t*, [[maybe_unused]] void* context) {
    systemCalls = systemCalls + 1;
#ifdef __x86_64__
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#endif
  };
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  constexpr auto kNumber = offsetof(seccomp_data, nr);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rt_sigreturn, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct Counted {
  bool possible = false;
  uint64_t allocations = 0, locks = 0;
  int systemCalls = 0;
};

/// What 1,000 rounds of `calls` make on a thread of their own, after a first one.
template <class Calls>
Counted countsOf(Calls calls) {
  Counted counted;
  std::thread([&] {
    calls();
    delete new int(1);  // what the thread's end frees needs malloc's own first call behind it
    counted.possible = countSystemCalls();
    const uint64_t allocationsBefore = allocations, locksBefore = locks;
    for (int i = 0; i < 1000; ++i) calls();
    counted.allocations = allocations - allocationsBefore;
    counted.locks = locks - locksBefore;
    counted.systemCalls = systemCalls;
  }).join();
  return counted;
}

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
