// For tests: ranks of one session as threads of this process, with an engine whose times are
// arithmetic.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "edge/session/session.h"
#include "store/file.h"
#include "store/run_record.h"

namespace autoccl {

/// Best at 4 channels; the default (1 channel) takes twice as long.
inline double modelUs(const Config& c) {
  const double nc = c.channels;
  return 50 + 100 / nc + 6 * nc;
}

inline Space smallSpace(const Task& task) {
  Space space;
  space.task = task;
  space.fallback = Config{Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, 1, 1, 65536};
  Subspace s;
  s.algorithm = Algorithm::kRing;
  s.protocol = Protocol::kSimple;
  s.transport = Transport::kShm;
  s.channels = {1, 2, 4, 8, 16};
  s.threads = {1};
  s.chunks = {65536};
  space.subspaces.push_back(s);
  return space;
}

/// One rank: a gate, and calls whose stamps follow the model on a clock that may be skewed.
struct SessionRank {
  std::unique_ptr<TuningSession> session;
  CallGate* gate = nullptr;
  std::vector<Config> ran;
  int64_t skewNs = 0;
  int64_t lateUs = 0;  // it comes so much earlier than the last rank, and waits

  /// False where the gate breaks the communicator.
  bool call(const Task& task) {
    Config config = smallSpace(task).fallback;
    const auto ticket = gate->take(task, config);
    if (!gate->resolve(ticket, config)) return false;
    CallRecord record;
    record.taskKey = keyOf(task);
    record.callIndex = ticket.index;
    record.asked = record.inEffect = config;
    record.arrivedNs = nowNs() + skewNs;
    record.finishedNs =
        record.arrivedNs + lateUs * 1000 + static_cast<int64_t>(modelUs(config) * 1e3);
    gate->report(record);
    ran.push_back(config);
    return true;
  }
};

inline Task sessionTask(int nRanks, uint64_t bytes) {
  return {0, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, nRanks, bytes};
}

/// `calls` on every rank at once, each from a thread of its own, since a fence may make one wait.
inline bool callAll(std::vector<SessionRank>& ranks, const Task& task, int calls) {
  std::atomic<bool> good{true};
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (SessionRank& rank : ranks)
    threads.emplace_back([&, calls] {
      for (int i = 0; i < calls; ++i)
        if (!rank.call(task)) good = false;
    });
  for (auto& thread : threads) thread.join();
  return good;
}

/// Calls until rank 0's session has been settled in ten rounds (a paired check of the default may
/// come between, and the winner's table begins a few calls after). False: not within a minute.
inline bool callUntilSettled(std::vector<SessionRank>& ranks, const Task& task) {
  const int64_t deadline = nowNs() + 60'000'000'000;
  for (int settled = 0; settled < 10;) {
    if (nowNs() > deadline || !callAll(ranks, task, 50)) return false;
    settled += ranks[0].session->settled() ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// Whether this many channels were among the last 50 calls: the last alone may be the default's, in
/// a paired check.
inline bool ranLately(const SessionRank& rank, int channels) {
  const auto from = rank.ran.end() - std::min<std::ptrdiff_t>(50, std::ssize(rank.ran));
  return std::any_of(from, rank.ran.end(), [&](const Config& c) { return c.channels == channels; });
}

/// A folder and the settings of one test, gone at its end.
class SessionSettings : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("autoccl-session-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    set("AUTOCCL_RESULT", (folder_ / "record.json").string());
    set("AUTOCCL_JOURNAL", (folder_ / "journal").string());
    set("AUTOCCL_BUDGET", "100");
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }

  [[nodiscard]] RunRecord record() const {
    const std::string path = (folder_ / "record.json").string();
    return readRunRecord(readWholeFile(path).value_or(""), path);
  }
  /// The tasks that one communicator's leader has recorded: the record is the whole process's.
  [[nodiscard]] std::vector<TaskRecord> tasksOf(const std::string& communicator) const {
    std::vector<TaskRecord> tasks;
    for (const TaskRecord& task : record().tasks)
      if (task.communicator == communicator) tasks.push_back(task);
    return tasks;
  }

  std::filesystem::path folder_;

 private:
  std::vector<std::string> names_;
};

}  // namespace autoccl
