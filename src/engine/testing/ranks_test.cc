#include "engine/testing/ranks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace autoccl::testing {

Communicator::Options optionsOf(const UniqueId& id, int rank, int nRanks) {
  Communicator::Options options;
  options.id = id;
  options.rank = rank;
  options.nRanks = nRanks;
  options.name = "test";
  options.timeoutNs = 30'000'000'000;
  return options;
}

void runAsThreads(int nRanks, const RankBody& body) {
  const UniqueId id = newUniqueId();
  std::vector<std::thread> ranks;
  ranks.reserve(nRanks);
  for (int r = 0; r < nRanks; ++r)
    ranks.emplace_back([&, r] {
      Communicator communicator(optionsOf(id, r, nRanks));
      body(communicator);
    });
  for (std::thread& rank : ranks) rank.join();
}

std::vector<pid_t> startProcesses(int nRanks, const RankBody& body) {
  const UniqueId id = newUniqueId();
  std::vector<pid_t> processes;
  for (int r = 0; r < nRanks; ++r) {
    const pid_t pid = ::fork();
    if (pid != 0) {
      processes.push_back(pid);
      continue;
    }
    int status = 0;
    try {
      Communicator communicator(optionsOf(id, r, nRanks));
      body(communicator);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "rank %d: %s\n", r, e.what());
      status = 1;
    }
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : status);
  }
  return processes;
}

std::vector<int> awaitProcesses(const std::vector<pid_t>& processes) {
  std::vector<int> statuses;
  for (const pid_t pid : processes) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    statuses.push_back(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
  }
  return statuses;
}

std::vector<int> runAsProcesses(int nRanks, const RankBody& body) {
  return awaitProcesses(startProcesses(nRanks, body));
}

}  // namespace autoccl::testing
