// For tests: a job of forked processes that only agree: calls with random delays, a leader that
// keeps changing tables, a log of what ran where, and a kill at any moment.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "agree/test_ranks.h"

namespace autoccl {

struct JobOptions {
  LinkKind links = LinkKind::kShm;  // kShm or kTcp
  uint64_t seed = 1;
  int calls = 300;        // of each task on each rank
  int killRank = -1;      // nobody
  int killAfterUs = 0;    // after all ranks have joined
  bool cutLinks = false;  // rank 1 loses its link now and then (kTcp)
};

struct JobResult {
  int divergences = 0;   // calls that two ranks ran with different configs
  int changedCalls = 0;  // calls of rank 0 that did not run the default
  int commits = 0, aborts = 0;
  bool digestsEqual = true;  // of ranks that ran every call
  int lateSurvivors = 0;     // not done 5 s after the kill
  int badExits = 0;          // a survivor that crashed, or holds a file in /dev/shm
  int64_t worstWaitNs = 0;   // longest resolve() of a survivor
};

/// Forks the ranks of one job and waits for them. Leaves nothing behind: memory is anonymous.
class ForkedJob {
 public:
  static constexpr int kRanks = 4;
  static constexpr int kTasks = 2;
  static constexpr int kMaxCalls = 4096;

  explicit ForkedJob(const JobOptions& options) : o_(options) {
    area_ = map(ShmLinks::requiredBytes(kRanks));
    board_ = new (map(sizeof(Board))) Board;
  }
  ~ForkedJob() {
    munmap(board_, sizeof(Board));
    munmap(area_, ShmLinks::requiredBytes(kRanks));
  }
  ForkedJob(const ForkedJob&) = delete;
  ForkedJob& operator=(const ForkedJob&) = delete;

  JobResult run() {
    std::array<pid_t, kRanks> pids{};
    for (int rank = 0; rank < kRanks; ++rank) {
      pids[static_cast<size_t>(rank)] = fork();
      if (pids[static_cast<size_t>(rank)] == 0) _exit(runRank(rank));
    }
    JobResult result;
    if (o_.killRank >= 0) {
      while (board_->joined < kRanks) std::this_thread::sleep_for(std::chrono::microseconds(50));
      std::this_thread::sleep_for(std::chrono::microseconds(o_.killAfterUs));
      kill(pids[static_cast<size_t>(o_.killRank)], SIGKILL);
      board_->killed = true;
    }
    collect(pids, result);
    compare(result);
    return result;
  }

 private:
  struct Board {
    std::atomic<int> joined{0}, done{0};
    std::atomic<int> port{0};
    std::atomic<bool> killed{false};
    std::atomic<int> commits{0}, aborts{0};
    std::array<std::atomic<uint64_t>, kRanks> digest{};
    std::array<std::atomic<int64_t>, kRanks> worstWaitNs{};
    /// Channels of the config that ran; 0: not run.
    std::array<std::array<std::array<std::atomic<uint16_t>, kMaxCalls>, kTasks>, kRanks> ran{};
  };

  static void* map(size_t bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    return p;
  }

  static Task task(int i) { return testTask(uint64_t{1024} << i); }

  std::unique_ptr<LinkSet> makeLinks(int rank, TcpLinks*& tcp) {
    if (o_.links == LinkKind::kShm)
      return std::make_unique<ShmLinks>(area_, ShmLinks::requiredBytes(kRanks), rank, kRanks, 9,
                                        kTestKey);
    while (rank != 0 && board_->port == 0) std::this_thread::yield();
    const auto port = static_cast<uint16_t>(board_->port.load());
    TcpLinks::Options options{rank, kRanks, 9, kTestKey, {{"127.0.0.1", port}}};
    auto links = std::make_unique<TcpLinks>(options);
    if (rank == 0) board_->port = links->port();
    tcp = links.get();
    return links;
  }

  int runRank(int rank) {
    Agreement::Options options;
    options.rank = rank;
    options.nRanks = kRanks;
    options.session = 9;
    options.fenceTimeoutNs = 2'000'000'000;
    TcpLinks* tcp = nullptr;
    Agreement agreement(options, makeLinks(rank, tcp));
    std::atomic<bool> over{false};
    std::thread agent([&] { runAgent(rank, agreement, tcp, over); });
    const bool finished = runCalls(rank, agreement);
    if (finished) board_->digest[static_cast<size_t>(rank)] = agreement.resolvedDigest();
    ++board_->done;
    // The agent goes on serving verdicts until every rank is through.
    while (board_->done < kRanks && !board_->killed)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (board_->killed) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    over = true;
    agent.join();
    return holdsSharedFile() ? 3 : 0;
  }

  void runAgent(int rank, Agreement& agreement, TcpLinks* tcp, const std::atomic<bool>& over) {
    std::mt19937_64 random(o_.seed * 100 + static_cast<uint64_t>(rank));
    bool counted = false;
    while (!over) {
      (void)agreement.step(nowNs());
      if (!counted && agreement.joined()) {
        counted = true;
        ++board_->joined;
      }
      if (rank == 0) lead(agreement, random);
      if (tcp && rank == 1 && o_.cutLinks) tcp->cut(0, random() % 8 == 0);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
    }
  }

  void lead(Agreement& agreement, std::mt19937_64& random) {
    if (const auto outcome = agreement.outcome())
      ++(outcome->committed ? board_->commits : board_->aborts);
    if (random() % 2) return;
    Proposal proposal;
    for (int t = 0; t < kTasks; ++t) {
      if (t > 0 && random() % 2) continue;
      Proposal::TaskPlan plan{keyOf(task(t)), {}};
      uint64_t offset = 0;
      for (uint64_t i = 0; i <= random() % 3; ++i) {
        plan.entries.push_back({offset, testConfig(static_cast<uint16_t>(2 + random() % 1000))});
        offset += 1 + random() % 5;
      }
      proposal.tasks.push_back(std::move(plan));
    }
    (void)agreement.propose(proposal, nowNs());
  }

  bool runCalls(int rank, Agreement& agreement) {
    std::mt19937_64 random(o_.seed * 1000 + static_cast<uint64_t>(rank));
    const auto me = static_cast<size_t>(rank);
    while (board_->joined < kRanks && !board_->killed) std::this_thread::yield();
    for (int i = 0; i < o_.calls * kTasks; ++i) {
      const int t = i % kTasks;
      Config config = testConfig(1);
      const auto ticket = agreement.take(task(t), config);
      const int64_t start = nowNs();
      const bool good = agreement.resolve(ticket, config);
      board_->worstWaitNs[me] = std::max(board_->worstWaitNs[me].load(), nowNs() - start);
      if (!good) return false;
      board_->ran[me][static_cast<size_t>(t)][ticket.index] = config.channels;
      if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
    return true;
  }

  static bool holdsSharedFile() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find("/dev/shm/") != std::string::npos) return true;
    return false;
  }

  void collect(const std::array<pid_t, kRanks>& pids, JobResult& result) {
    const int64_t start = nowNs();
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t pid = pids[static_cast<size_t>(rank)];
      int status = 0;
      while (waitpid(pid, &status, WNOHANG) == 0) {
        const int64_t limitNs = o_.killRank >= 0 ? 5'000'000'000 : 60'000'000'000;
        if (nowNs() - start > limitNs) {
          ++result.lateSurvivors;
          kill(pid, SIGKILL);
          (void)waitpid(pid, &status, 0);
          break;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
      if (rank != o_.killRank && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        ++result.badExits;
    }
  }

  void compare(JobResult& result) {
    for (size_t t = 0; t < kTasks; ++t)
      for (size_t i = 0; i < static_cast<size_t>(o_.calls); ++i) {
        uint16_t first = 0;
        for (size_t r = 0; r < kRanks; ++r) {
          const uint16_t config = board_->ran[r][t][i];
          if (r == 0 && config > 1) ++result.changedCalls;
          if (first != 0 && config != 0 && config != first) ++result.divergences;
          if (first == 0) first = config;
        }
      }
    for (size_t r = 0; r < kRanks; ++r) {
      result.worstWaitNs = std::max(result.worstWaitNs, board_->worstWaitNs[r].load());
      if (o_.killRank < 0 && board_->digest[r] != board_->digest[0]) result.digestsEqual = false;
    }
    result.commits = board_->commits;
    result.aborts = board_->aborts;
  }

  JobOptions o_;
  void* area_ = nullptr;
  Board* board_ = nullptr;
};

/// Sum of many jobs, for a test to look at and to print.
struct JobTotals {
  int runs = 0, divergences = 0, changedCalls = 0, commits = 0, aborts = 0;
  int unequalDigests = 0, lateSurvivors = 0, badExits = 0;
  int64_t worstWaitNs = 0;

  void add(const JobResult& r) {
    ++runs;
    divergences += r.divergences;
    changedCalls += r.changedCalls;
    commits += r.commits;
    aborts += r.aborts;
    unequalDigests += !r.digestsEqual;
    lateSurvivors += r.lateSurvivors;
    badExits += r.badExits;
    worstWaitNs = std::max(worstWaitNs, r.worstWaitNs);
  }
  void print(const char* name) const {
    std::printf(
        "%s: %d runs, %d versions committed, %d aborted, %d changed calls, %d divergences, "
        "longest wait %.3f ms\n",
        name, runs, commits, aborts, changedCalls, divergences,
        static_cast<double>(worstWaitNs) / 1e6);
  }
};

/// What holds however many jobs ran, killed ranks or not.
inline void expectAgreed(const JobTotals& t) {
  EXPECT_EQ(t.divergences, 0);
  EXPECT_EQ(t.badExits, 0);
  EXPECT_EQ(t.lateSurvivors, 0);
}

/// And what holds where every rank lived to the end.
inline void expectAgreedToTheEnd(const JobTotals& t) {
  expectAgreed(t);
  EXPECT_EQ(t.unequalDigests, 0);
  EXPECT_GT(t.commits, t.runs) << "versions were committed while calls ran";
  EXPECT_GT(t.changedCalls, 0);
}

/// `runs` jobs with different seeds; every second one over TCP, where rank 1 also loses its link.
inline JobTotals runNoisyJobs(int runs) {
  JobTotals totals;
  for (int i = 0; i < runs; ++i) {
    JobOptions options;
    options.seed = static_cast<uint64_t>(i) + 1;
    options.links = i % 2 ? LinkKind::kTcp : LinkKind::kShm;
    options.cutLinks = i % 4 == 3;
    totals.add(ForkedJob(options).run());
  }
  return totals;
}

/// `runs` jobs in which one rank, the leader every second time, is killed at a random moment.
inline JobTotals runKilledJobs(int runs) {
  JobTotals totals;
  std::mt19937_64 random(7);
  for (int i = 0; i < runs; ++i) {
    JobOptions options;
    options.seed = static_cast<uint64_t>(i) + 1;
    options.links = i % 4 < 2 ? LinkKind::kShm : LinkKind::kTcp;
    options.killRank = i % 2 ? 0 : 1 + static_cast<int>(random() % 3);
    options.killAfterUs = static_cast<int>(random() % 30000);
    options.calls = 1000;
    totals.add(ForkedJob(options).run());
  }
  return totals;
}

}  // namespace autoccl
