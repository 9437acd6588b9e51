// What the tuner knows of one task and of the whole communicator, for reports and profiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/task.h"

namespace autoccl {

enum class TaskState : uint8_t {
  kWarmUp,      // the first calls are dropped, then the default is measured
  kSearching,   // trials of the policy
  kConfirming,  // the candidate against the default on fresh interleaved calls
  kConverged,   // the choice serves; paired bursts watch it
  kPaused,      // the budget is spent; goes on when it has filled up
  kOff          // no room in the table, or nothing to choose from
};
/// "warm-up", "searching", "confirming", "converged", "paused", "off".
[[nodiscard]] std::string_view toText(TaskState state) noexcept;

/// One block of calls that the tuner asked for, in the order tried.
struct TrialRecord {
  Config config;
  uint64_t fromCall = 0;
  int calls = 0;
  int samples = 0;      // usable ones
  double medianUs = 0;  // 0 where all failed
  std::string phase;    // "breadth", "depth", "search", "confirm", "drift", "step"
  /// "win", "lose": the best of the search after this round, or not; "accepted", "rejected": by a
  /// confirmation or step check; "kept", "rolled back": by a drift check; "failed"; "" for the
  /// default's blocks, which only serve the comparison, and for what was not judged yet.
  std::string verdict;
  uint64_t version = 0;  // of the committed table that carried it
  double second = 0;     // since the communicator's first call
};

/// Field meanings as in the run record. Times in microseconds; the objective's price, where it has
/// one (`sm`), is part of them.
struct TaskStatus {
  Task task;
  uint64_t taskKey = 0;
  TaskState state = TaskState::kWarmUp;
  uint64_t calls = 0;             // told so far, of any config
  uint64_t warmupCalls = 0;       // before these no trial begins
  uint64_t measuredCalls = 0;     // of these, asked for by the search and its confirmation
  uint64_t missingSamples = 0;    // asked for and never told
  uint64_t discardedSamples = 0;  // failed, or another config in effect than asked
  Config defaultConfig;
  Config config;  // in service
  double defaultUs = 0, tunedUs = 0;
  double defaultSe = 0, tunedSe = 0;
  int confirmSamples = 0;
  double gain = 1, gainLow = 1, gainHigh = 1;  // default/tuned and its 95 % interval
  double selfHalfWidth = 0;  // A/A: how far the default differs from itself at 95 %, as a share
  double detectable = 0;     // smallest change that the drift bursts so far could show, as a share
  std::string decidedBy;
  uint64_t convergedAtCall = 0, convergedAtStep = 0;
  double convergedAtSecond = 0;
  double lostUs = 0;                              // trials slower than what would have served
  double savedUs = 0;                             // against the default since a tuned config serves
  uint64_t breakEvenCall = 0, breakEvenStep = 0;  // first at which savedUs >= lostUs; 0: not yet
  double modelAlphaUs = 0;          // start cost of a round of chunks in the fitted model
  double modelBetaGBps = 0;         // its asymptotic bandwidth
  double modelResidual = 0;         // relative error of the fit; 0: no model
  int reopened = 0;                 // how often a change re-opened the search
  std::vector<Config> quarantined;  // never tried again, nor larger ones
  std::vector<Config> failedHere;   // of these, the ones that failed in this run
  std::vector<TrialRecord> history;
};

/// Sums over all tasks of the communicator.
struct TunerTotals {
  double communicationUs = 0;
  double lostUs = 0;
  double fenceUs = 0;
  double savedUs = 0;
  double creditUs = 0;  // left in the budget's bucket
  uint64_t steps = 0;
  uint64_t breakEvenStep = 0;  // 0: not yet
  size_t tasksRefused = 0;     // seen after the table was full: they run the default
};

}  // namespace autoccl
