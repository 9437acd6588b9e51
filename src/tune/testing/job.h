// For tests of the tuner: a simulated job, and a small space whose optimum is known.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "model/surface.h"
#include "tune/tuner.h"

namespace autoccl {

/// A job of one process: calls tasks in turn, agrees at once, a few calls ahead. With `computeUs`
/// it is a training loop: before every call it computes, and tells the tuner when a step has ended.
class Job {
 public:
  using TrueUs = std::function<double(const Task&, const Config&)>;
  Job(TunerOptions options, Space space, TrueUs us, Noise::Options noise = quiet())
      : tuner(std::move(options),
              [space](const Task& t) {
                Space own = space;
                own.task = t;
                return own;
              }),
        space_(std::move(space)),
        us_(std::move(us)),
        noise_(noise) {}

  static Noise::Options quiet() {
    Noise::Options o;
    o.sd = 0.01;
    return o;
  }

  void begin(const Task& task, const Config* known = nullptr) {
    tuner.seen(task, known, nowNs);
    tasks_.push_back({task, {{0, space_.fallback}}, 0, false});
  }

  /// `n` steps: in each callsPerStep calls of every task.
  void run(int n) {
    for (int i = 0; i < n; ++i) {
      const int64_t from = nowNs;
      for (int k = 0; k < callsPerStep; ++k) {
        for (size_t t = 0; t < tasks_.size(); ++t)
          if (!tasks_[t].over) call(t);
        agree();
      }
      if (computeUs) tuner.stepEnded(double(nowNs - from) / 1e6, nowNs);
    }
  }
  /// The program calls it no more.
  void end(size_t t) { tasks_[t].over = true; }

  [[nodiscard]] Config configOf(size_t t) const {
    Config c;
    for (const auto& [from, config] : tasks_[t].table)
      if (from <= tasks_[t].index) c = config;
    return c;
  }

  TaskStatus status(size_t t = 0) const { return tuner.status()[t]; }

  Tuner tuner;
  int64_t nowNs = 1'000'000'000;
  /// Of the computation beside a call that runs with this config.
  std::function<double(const Config&)> computeUs;
  int callsPerStep = 1;
  std::function<void(TimedCall&)> disturb = [](TimedCall&) {};  // loses, fails or delays a sample
  bool agrees = true;
  size_t mostEntries = 0, mostPlans = 0;  // of a proposal
  std::map<Config, int> ran;

 private:
  struct Called {
    Task task;
    std::map<uint64_t, Config> table;
    uint64_t index;
    bool over;
  };

  void call(size_t t) {
    const Config c = configOf(t);
    TimedCall told{keyOf(tasks_[t].task),
                   tasks_[t].index,
                   c,
                   noise_.measure(us_(tasks_[t].task, c)),
                   false,
                   0};
    ++tasks_[t].index;
    ++ran[c];
    if (computeUs) nowNs += int64_t(noise_.measure(computeUs(c)) * 1e3);
    nowNs += int64_t(told.us * 1e3);
    told.atNs = nowNs;
    disturb(told);
    if (told.taskKey != 0) tuner.tell({told});
  }

  void agree() {
    const auto plans = tuner.nextPlans(nowNs);
    if (plans.empty()) return;
    EXPECT_TRUE(tuner.nextPlans(nowNs).empty());
    mostPlans = std::max(mostPlans, plans.size());
    if (!agrees) return tuner.aborted();
    std::vector<uint64_t> from;
    for (const TablePlan& p : plans) {
      ASSERT_FALSE(p.entries.empty());
      EXPECT_EQ(p.entries[0].offset, 0u);
      mostEntries = std::max(mostEntries, p.entries.size());
      auto& task = *std::find_if(tasks_.begin(), tasks_.end(),
                                 [&](auto& c) { return keyOf(c.task) == p.taskKey; });
      from.push_back(task.index + 3);
      for (const auto& e : p.entries) task.table[from.back() + e.offset] = e.config;
    }
    tuner.committed(++version_, from);
  }

  Space space_;
  TrueUs us_;
  Noise noise_;
  std::vector<Called> tasks_;
  uint64_t version_ = 0;
};

inline Space smallSpace() {
  Space space;
  space.fallback = {Algorithm::kRing, Protocol::kSimple, Transport::kShm, 0, 1, 1, 4096};
  space.subspaces.push_back({Algorithm::kRing,
                             Protocol::kSimple,
                             Transport::kShm,
                             0,
                             {1, 2, 4, 8},
                             {1, 2, 4},
                             {4096, 16384, 65536, 262144},
                             0});
  space.subspaces.push_back(space.subspaces[0]);
  space.subspaces[1].algorithm = Algorithm::kTwoShot;
  return space;
}
/// Least, 60 us, at twoshot nc=4 nt=2 c=64K; the default takes about 127 us.
inline double smallUs(const Task&, const Config& c) {
  const double nc = std::log2(c.channels / 4.0), nt = std::log2(c.threads / 2.0),
               ch = std::log2(c.chunk / 65536.0) / 2;
  return (60 + 8 * (nc * nc + nt * nt + ch * ch)) * (c.algorithm == Algorithm::kTwoShot ? 1 : 1.15);
}
inline Task taskOf(uint64_t bytes) {
  Task t;
  t.nRanks = 4;
  t.bytes = bytes;
  return t;
}
inline TunerOptions generous() {
  TunerOptions o;
  o.budgetShare = 1;
  return o;
}

}  // namespace autoccl
