// How finished calls reach the leader inside one host: a ring and a few counters per rank in shared
// memory, and the joiner that makes one time out of n ranks' stamps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/spsc_ring.h"
#include "model/gate.h"
#include "tune/tuner.h"

namespace autoccl {

/// One rank's stamps of one call.
struct CallSample {
  uint64_t taskKey = 0;
  uint64_t callIndex = 0;
  Config inEffect;
  int64_t arrivedNs = 0;
  int64_t finishedNs = 0;
  uint32_t failed = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(CallSample) == 56);

/// A rank's part of the board. The rank writes, the leader reads. Lives in zeroed shared memory.
struct RankBoard {
  static constexpr size_t kSamples = 2048;
  SpscRing<CallSample, kSamples> samples;
  std::atomic<int64_t> firstCallNs;
  std::atomic<int64_t> lastCallNs;
  std::atomic<int64_t> exposedNs;  // the program waited for communication
  std::atomic<int64_t> fenceNs;    // calls waited for a verdict
  std::atomic<int64_t> calls;
};

/// The board of a communicator: three words of the leader, then one RankBoard per rank.
/// Trivially usable in zeroed memory by every process at once.
class SampleBoard {
 public:
  [[nodiscard]] static size_t requiredBytes(int nRanks);
  /// `area` is zeroed shared memory of requiredBytes(nRanks), aligned to 64.
  SampleBoard(void* area, int nRanks) noexcept;
  /// The leader has made the files that the other ranks open.
  [[nodiscard]] bool ready() const noexcept { return head_[2].load() != 0; }
  void setReady() noexcept { head_[2].store(1); }

  [[nodiscard]] RankBoard& of(int rank) noexcept { return ranks_[rank]; }
  [[nodiscard]] const RankBoard& of(int rank) const noexcept { return ranks_[rank]; }
  /// Calls whose index has a bit of the mask set are not sampled: 0 samples all. Set by the leader.
  [[nodiscard]] uint64_t skipMask() const noexcept {
    return head_->load(std::memory_order_relaxed);
  }
  void setSkipMask(uint64_t mask) noexcept { head_->store(mask, std::memory_order_relaxed); }
  /// Every task has converged (or tuning stopped). Set by the leader, read by all.
  [[nodiscard]] bool settled() const noexcept { return head_[1].load() != 0; }
  void setSettled(bool settled) noexcept { head_[1].store(settled ? 1 : 0); }

 private:
  std::atomic<uint64_t>* head_;
  RankBoard* ranks_;
};

/// Joins the stamps of n ranks into the call's time: last finish minus last arrival, the time from
/// "all ranks are ready" to "all ranks have it". A call that a rank did not report (ring full) is
/// dropped and counted; so is one that ends before it begins. Thread-compatible. O(1) per sample.
class SampleJoiner {
 public:
  explicit SampleJoiner(int nRanks) : nRanks_(nRanks) {}
  void put(const CallSample& sample);
  /// Calls joined since the last take, in the order of their completion.
  [[nodiscard]] std::vector<TimedCall> take() { return std::exchange(ready_, {}); }
  [[nodiscard]] uint64_t discarded() const noexcept { return discarded_; }

 private:
  struct Open {
    int seen = 0;
    int64_t lastArrivalNs = 0;
    int64_t lastFinishNs = 0;
    bool failed = false;
    bool differs = false;  // ranks report different configs in effect
    Config inEffect;
  };
  struct OpenTask {
    std::map<uint64_t, Open> calls;
  };
  static constexpr size_t kOpenCalls = 4096;  // per task; the oldest are given up beyond

  int nRanks_;
  std::unordered_map<uint64_t, OpenTask> tasks_;
  std::vector<TimedCall> ready_;
  uint64_t discarded_ = 0;
};

}  // namespace autoccl
