// How finished calls reach the leader: a ring and a few counters per rank. Ranks of one host share
// the board; ranks without shared memory have one each, and sample_links.h moves what is on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/spsc_ring.h"
#include "model/call_sample.h"

namespace autoccl {

/// A rank's part of the board. The rank writes, the leader reads. Lives in zeroed memory.
struct RankBoard {
  static constexpr size_t kSamples = 2048;
  SpscRing<CallSample, kSamples> samples;
  std::atomic<int64_t> firstCallNs;
  std::atomic<int64_t> lastCallNs;
  std::atomic<int64_t> exposedNs;  // the program waited for communication
  std::atomic<int64_t> calls;
  std::atomic<uint64_t> lost;  // samples that never came into the ring
};

/// A call as it was issued, by nowNs().
struct IssuedCall {
  uint64_t taskKey = 0;
  int64_t atNs = 0;
};

/// The board of a communicator: three words of the leader, then one RankBoard per rank.
/// Trivially usable in zeroed memory by every process at once; pages that nobody touches cost
/// nothing.
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
  /// How many tasks the leader knows of, none of which is still being searched; 0 while one is;
  /// kForGood when tuning has stopped. Set by the leader, read by all.
  static constexpr uint64_t kForGood = UINT64_MAX;
  [[nodiscard]] uint64_t settledTasks() const noexcept { return head_[1].load(); }
  void setSettledTasks(uint64_t tasks) noexcept { head_[1].store(tasks); }
  /// Calls of the leader's own process, of engines that sample few of them; not shared.
  static constexpr size_t kIssued = 1024;
  [[nodiscard]] SpscRing<IssuedCall, kIssued>& issued() noexcept { return issued_; }

 private:
  SpscRing<IssuedCall, kIssued> issued_;
  std::atomic<uint64_t>* head_;
  RankBoard* ranks_;
};

}  // namespace autoccl
