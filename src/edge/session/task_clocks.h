// Which clock decides for a task, and what the other one showed beside it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "edge/session/sample_joiner.h"

namespace autoccl {

/// Joins the ranks' samples, each clock's among themselves, and passes on those of one clock a
/// task: of the stream, where the task's calls are timed on it, since the wait for the GPU's
/// multiprocessors and the cost of the launch are in it and the program feels both; else of the
/// engine. Where an engine's calls may be timed on streams, a task's first calls are held back
/// until it is known: the first sample of a stream, or of a call that is timed there too, settles
/// it one way, kEngineOnly others in a row the other. A task keeps its clock.
/// What the engine's clock shows of a task on streams is kept by config, to be shown beside.
/// Thread-compatible. Memory is bounded by the joiners'.
class TaskClocks {
 public:
  static constexpr size_t kEngineOnly = 24;  // calls

  TaskClocks(int nRanks, JoinRule rule, bool onStreams)
      : onStreams_(onStreams), joiners_{SampleJoiner(nRanks, rule), SampleJoiner(nRanks, rule)} {}
  void put(int rank, const CallSample& sample);
  /// Calls on their task's clock, joined since the last take, in the order of their completion.
  [[nodiscard]] std::vector<TimedCall> take();
  [[nodiscard]] bool onStream(uint64_t taskKey) const;
  /// Microseconds of a task on streams by the engine's clock; 0: not seen.
  [[nodiscard]] double besideUs(uint64_t taskKey, const Config& config) const;
  [[nodiscard]] uint64_t discarded() const noexcept {
    return joiners_[0].discarded() + joiners_[1].discarded();
  }

 private:
  static constexpr size_t kTasks = 4096;
  static constexpr size_t kConfigs = 16;  // of a task, to be shown beside
  static constexpr size_t kKept = 32;     // samples of one of them

  enum class Choice : uint8_t { kNone, kEngine, kStream };
  struct PerTask {
    Choice choice = Choice::kNone;
    std::vector<TimedCall> held;
    std::map<Config, std::vector<double>> beside;
  };
  static void keep(PerTask& task, const TimedCall& call);
  void onEngine(const TimedCall& call);

  bool onStreams_;
  std::array<SampleJoiner, 2> joiners_;  // the engine's clock, the streams'
  std::unordered_map<uint64_t, PerTask> tasks_;
  std::vector<TimedCall> ready_;
};

}  // namespace autoccl
