// One time out of n ranks' stamps of one call.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/call_sample.h"
#include "tune/tuner.h"

namespace autoccl {

/// How the ranks' stamps of one call become its time.
/// kSharedClock: ranks of one host, stamps of its clock. Last finish minus last arrival: the time
///   from "all ranks are ready" to "all ranks have it".
/// kOwnDurations: ranks without a common clock, or device stamps. The least of the ranks' own
///   durations, which is the last arriver's: it waited for nobody. Holds for collectives in which
///   no rank can finish before all have come; of a rooted one it sees only the rank that was done
///   first, and so ranks its configs less sharply.
enum class JoinRule { kSharedClock, kOwnDurations };

/// Joins samples, whatever the order in which ranks and calls come. A call that a rank did not
/// report (ring full, link lost) is dropped and counted; so is one that ends before it begins. The
/// moment of a joined call (TimedCall::atNs) is on the shared clock, or on rank 0's.
/// Stamps may hold anything. Thread-compatible. O(log of the open calls) per sample; memory is
/// bounded.
class SampleJoiner {
 public:
  SampleJoiner(int nRanks, JoinRule rule) : nRanks_(nRanks), rule_(rule) {}
  void put(int rank, const CallSample& sample);
  /// Calls joined since the last take, in the order of their completion.
  [[nodiscard]] std::vector<TimedCall> take() { return std::exchange(ready_, {}); }
  [[nodiscard]] uint64_t discarded() const noexcept { return discarded_; }

 private:
  struct Open {
    int seen = 0;
    int64_t lastArrivalNs = 0;
    int64_t lastFinishNs = 0;
    int64_t leastNs = INT64_MAX;  // of the ranks' own durations
    int64_t atNs = 0;             // rank 0's finish
    bool failed = false;
    bool differs = false;  // ranks report different configs in effect
    Config inEffect;
  };
  struct OpenTask {
    std::map<uint64_t, Open> calls;
  };
  static constexpr size_t kOpenCalls = 4096;  // per task; the oldest are given up beyond
  static constexpr size_t kTasks = 4096;      // samples of later ones are dropped

  static void add(Open& open, int rank, const CallSample& sample);
  void finish(uint64_t taskKey, uint64_t callIndex, const Open& open);

  int nRanks_;
  JoinRule rule_;
  std::unordered_map<uint64_t, OpenTask> tasks_;
  std::vector<TimedCall> ready_;
  uint64_t discarded_ = 0;
};

}  // namespace autoccl
