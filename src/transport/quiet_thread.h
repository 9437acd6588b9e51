// Threads that a library may start in a stranger's process: they take no signal of the host.
#pragma once

#include <pthread.h>

#include <csignal>
#include <string>
#include <thread>
#include <utility>

namespace autoccl {

/// Starts a thread with every signal blocked, so that the host's handlers run on the host's threads
/// only, and with a name that shows in ps and gdb (at most 15 characters). Throws
/// std::system_error.
template <class Function>
[[nodiscard]] std::thread startQuietThread(const std::string& name, Function&& function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::forward<Function>(function));
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
  return thread;
}

}  // namespace autoccl
