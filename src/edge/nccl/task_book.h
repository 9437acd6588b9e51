// The tasks of one communicator as its calls show them: their names, NCCL's predictions for them,
// and what NCCL does with them when it is left alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "edge/nccl/cost_table.h"
#include "model/config.h"
#include "model/task.h"

namespace autoccl::nccl {

/// Predicted microseconds by pair, as in the cost table; below 0 where it is not possible.
using PairCosts = std::array<float, kAlgos * kProtos>;

/// What NCCL ran for an untouched call.
struct OwnChoice {
  Pair pair;
  int channels = 0;
};

/// How a task is measured; the issuing thread's.
struct TaskMeasuring {
  bool onStream = false;          // its calls were timed on their stream when it was young
  bool wantsStamps = false;       // since its last call
  uint8_t portrayed = 0;          // calls stamped of the config that has settled …
  Config settledOn = kUntouched;  // … which is this one
};

/// Names a call's task and keeps the first cost table seen for it, in a fixed table of as many
/// tasks as can be tuned; later ones have no costs and are not measured.
/// Task names are a function of the sequence of calls alone, so equal on all ranks: sizes are exact
/// for powers of two and for the first 64 others, then classes of a quarter octave; the set of
/// pairs is the variant, so calls of one size that NCCL can run in different ways (by element type
/// and operation, which a tuner is not told) are tasks of their own.
/// Threads: taskOf and meet from whoever issues calls, one call at a time; noteOwnChoice and the
/// queries from any. HOT but for a task's first call: no lock, allocation, log or system call.
class TaskBook {
 public:
  explicit TaskBook(int nRanks);

  [[nodiscard]] Task taskOf(Collective collective, uint64_t nBytes, PairSet possible) noexcept;
  /// `costs`: null where this version of the interface shows none. Null when the table is full.
  TaskMeasuring* meet(uint64_t taskKey, const CostTable* costs) noexcept;
  void noteOwnChoice(uint64_t taskKey, OwnChoice choice) noexcept;

  [[nodiscard]] std::optional<PairCosts> costsOf(uint64_t taskKey) const noexcept;
  [[nodiscard]] std::optional<OwnChoice> ownChoiceOf(uint64_t taskKey) const noexcept;
  /// The most channels that NCCL itself has given to that algorithm; 0: not seen.
  [[nodiscard]] int mostChannels(int algo) const noexcept {
    return mostChannels_[static_cast<size_t>(algo)].load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kPlaces = 2048;  // at most half full
  static constexpr uint32_t kMostTasks = 1024;
  static constexpr size_t kExactSizes = 64;

  struct Place {
    std::atomic<uint64_t> key{0};
    std::atomic<bool> written{false};
    std::atomic<uint32_t> own{0};  // 0: not seen; else channels << 8 | pair + 1
    bool hasCosts = false;
    PairCosts costs{};
    TaskMeasuring measuring;
  };
  [[nodiscard]] Place* find(uint64_t key) const noexcept;

  const int nRanks_;
  std::unique_ptr<Place[]> places_;
  std::atomic<uint32_t> used_{0};
  std::array<std::atomic<uint64_t>, kExactSizes> exactSizes_{};
  std::atomic<size_t> nExact_{0};
  std::array<std::atomic<int>, kAlgos> mostChannels_{};
};

}  // namespace autoccl::nccl
