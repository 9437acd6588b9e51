// What one run learned, as the leader writes it at exit and `autoccl run`, `report` and `explain`
// read it. Plain data; JSON form in run_record.cc (schema "autoccl-run/1").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/task.h"

namespace autoccl {

/// One block of measured calls of the search, in the order tried.
struct HistoryEntry {
  Config config;
  uint64_t fromCall = 0;
  int calls = 0;
  int samples = 0;       // usable ones
  double medianUs = 0;   // 0 where all failed
  std::string phase;     // "breadth", "depth", "polish", "search", "confirm", "drift", "step"
  std::string verdict;   // as TrialRecord's in tune/task_status.h; docs/formats.md lists them
  uint64_t version = 0;  // of the committed table that carried it
  double second = 0;     // since the communicator's start
};

struct TaskRecord {
  Task task;
  std::string communicator;  // its name
  uint64_t calls = 0;        // all calls of the run
  uint64_t warmupCalls = 0;  // before these no trial begins
  std::string
      state;  // "warm-up", "searching", "confirming", "converged", "paused", "off", "quarantined"
  Config defaultConfig;
  Config config;                      // the one in use at the end
  double defaultUs = 0, tunedUs = 0;  // medians over fresh interleaved rounds
  double defaultSe = 0, tunedSe = 0;  // standard errors of those
  int confirmSamples = 0;
  double gain = 1, gainLow = 1, gainHigh = 1;  // default/tuned and its 95 % interval
  std::string clock = "host";  // of all times here: "host", "kernel" (stamps of the device) or
                               // "stream" (from ready to done on the stream that it was called on)
  double kernelDefaultUs = 0, kernelTunedUs = 0;  // beside the stream's, 0: not seen
  std::string decidedBy;                          // a sentence: how the choice was made
  uint64_t convergedAtCall = 0, convergedAtStep = 0;
  double convergedAtSecond = 0;
  double lostUs = 0;   // spent on losing trials, beyond the default's time
  double savedUs = 0;  // saved against the default since then
  double modelAlphaUs = 0, modelBetaGBps = 0, modelResidual = 0;  // the fitted model (eqs. 1-5)
  std::vector<HistoryEntry> history;
};

/// One training step as the leader saw it.
struct StepRecord {
  double ms = 0;
  double exposedMs = 0;  // time this rank's program waited for communication
  double computeMs = 0;  // the rest
};

struct RankRecord {
  int rank = 0;
  double computeShare = 0;  // of the wall time between first and last call
  double exposedMs = 0;
  uint64_t droppedSamples = 0, discardedSamples = 0;
};

struct RunRecord {
  std::string state = "running";  // "running", "finished" or "failed"
  std::string engine = "cpu";
  std::string machine;      // fingerprint
  std::string machineText;  // for people
  std::string library;      // "autoccl 0.1.0"
  std::string date;         // ISO 8601
  std::string command;
  std::string policy, objective;
  double wallSeconds = 0;
  double communicationMs = 0;
  double tuningCostMs = 0;  // losing trials plus time at fences
  double fenceMs = 0;
  double netGainMs = 0;  // saved minus cost
  uint64_t breakEvenStep = 0;
  uint64_t convergedAtCall = 0, convergedAtStep = 0;
  double convergedAtSecond = 0;
  double budgetShare = 0.02;
  std::vector<StepRecord> steps;
  double defaultStepMs = 0, tunedStepMs = 0;
  std::vector<RankRecord> ranks;
  std::vector<TaskRecord> tasks;
  std::vector<std::string>
      notes;  // what a person should know: quarantined configs, tuning off and why
};

/// JSON text of a record, indented, ending in a newline; and back. This is also the document of
/// `autoccl run --json` (docs/formats.md lists its members): times in the unit of their names,
/// tuning_cost and net_gain in milliseconds. readRunRecord throws Error with file:line: reason for
/// anything that is not a whole record: a member missing, unknown, twice or out of its range.
[[nodiscard]] std::string writeRunRecord(const RunRecord& record);
[[nodiscard]] RunRecord readRunRecord(const std::string& text, const std::string& fileName);

/// Adds the part's tasks, notes and sums to `whole`; steps and ranks come from the part that has
/// more of them.
void joinRecords(RunRecord& whole, const RunRecord& part);

}  // namespace autoccl
