#include "edge/nccl/testing/counted.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <thread>

#include "base/testing/allocations.h"

namespace {
thread_local uint64_t locks = 0;
thread_local volatile sig_atomic_t systemCalls = 0;
}  // namespace

#ifndef AUTOCCL_SANITIZED  // the sanitizers have their own
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return real(mutex);
}
#endif

namespace autoccl::testing {
namespace {

/// From here on this thread's system calls are counted and fail, but for what ends it.
bool countSystemCalls() {
#ifdef AUTOCCL_SANITIZED
  return false;  // they handle signals themselves, and make calls of their own
#endif
  struct sigaction action {};
  action.sa_sigaction = [](int, siginfo_t*, [[maybe_unused]] void* context) {
    systemCalls = systemCalls + 1;
#ifdef __x86_64__
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#endif
  };
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rt_sigreturn, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

Counted countsOf(const std::function<void()>& calls) {
  Counted counted;
  std::thread([&] {
    calls();
    delete new int(1);  // what the thread's end frees needs malloc's own first call behind it
    counted.possible = countSystemCalls();
    const uint64_t allocationsBefore = allocationsOfThisThread(), locksBefore = locks;
    for (int i = 0; i < 1000; ++i) calls();
    counted.allocations = allocationsOfThisThread() - allocationsBefore;
    counted.locks = locks - locksBefore;
    counted.systemCalls = systemCalls;
  }).join();
  return counted;
}

}  // namespace autoccl::testing
