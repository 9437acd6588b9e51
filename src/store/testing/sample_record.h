// A whole run record and profile with every member set, for the tests of store, report and cli.
#pragma once

#include "store/profile.h"
#include "store/run_record.h"

namespace autoccl {

[[nodiscard]] inline Task sampleTask(uint64_t bytes) {
  Task task;
  task.bytes = bytes;
  task.nRanks = 2;
  return task;
}

/// `gain` default/tuned at this size; the history visits some configs.
[[nodiscard]] inline TaskRecord sampleTaskRecord(uint64_t bytes, double defaultUs, double gain) {
  TaskRecord t;
  t.task = sampleTask(bytes);
  t.communicator = "comm0";
  t.calls = 1200;
  t.state = "converged";
  t.defaultConfig = parseConfig("ring/simple/shm nc=1 nt=1 c=64K wait=futex");
  t.config = parseConfig("twoshot/zero/shm nc=2 nt=1 c=128K wait=spin");
  t.defaultUs = defaultUs;
  t.tunedUs = defaultUs / gain;
  t.defaultSe = defaultUs * 0.01;
  t.tunedSe = t.tunedUs * 0.01;
  t.gain = gain;
  t.gainLow = gain * 0.97;
  t.gainHigh = gain * 1.03;
  t.confirmSamples = 24;
  t.decidedBy = "12 interleaved pairs: 95 % of the gain lies above 1";
  t.convergedAtCall = 420;
  t.convergedAtStep = 105;
  t.convergedAtSecond = 3.25;
  t.lostUs = 900;
  t.savedUs = 52000;
  t.modelAlphaUs = 4.5;
  t.modelBetaGBps = 6.25;
  t.modelResidual = 0.04;
  uint64_t call = 5;
  for (const auto& [text, factor] :
       {std::pair{"ring/simple/shm nc=1 nt=1 c=64K wait=futex", 1.0},
        std::pair{"twoshot/zero/shm nc=1 nt=1 c=64K wait=futex", 1.1},
        std::pair{"twoshot/zero/shm nc=2 nt=1 c=64K wait=spin", 1.3},
        std::pair{"twoshot/zero/shm nc=2 nt=2 c=64K wait=spin", 0.7},
        std::pair{"twoshot/zero/shm nc=2 nt=1 c=128K wait=spin", 1.5}}) {
    HistoryEntry h;
    h.config = parseConfig(text);
    h.fromCall = call;
    h.calls = h.samples = 4;
    h.medianUs = defaultUs / (1 + (gain - 1) * (factor - 1) / 0.5);
    h.phase = call == 5 ? "breadth" : "depth";
    if (factor != 1) h.verdict = factor > 1 ? "win" : "lose";
    h.version = call / 5;
    h.second = 0.01 * static_cast<double>(call);
    t.history.push_back(h);
    call += 40;
  }
  return t;
}

[[nodiscard]] inline RunRecord sampleRecord() {
  RunRecord r;
  r.state = "finished";
  r.machine = "cpu-2c-0123456789abcdef";
  r.machineText = "Some CPU, 2 cores, L2 2M, 24 GiB";
  r.library = "autoccl 0.1.0";
  r.date = "2026-11-30T18:00:00Z";
  r.command = "./train --steps 300";
  r.policy = "subspacerace";
  r.objective = "time";
  r.wallSeconds = 12.5;
  r.communicationMs = 2400;
  r.tuningCostMs = 21;
  r.fenceMs = 2.5;
  r.netGainMs = 310;
  r.breakEvenStep = 118;
  r.convergedAtCall = 420;
  r.convergedAtStep = 105;
  r.convergedAtSecond = 3.25;
  r.defaultStepMs = 41;
  r.tunedStepMs = 37.5;
  for (int i = 0; i < 300; ++i) {
    const double ms = (i < 105 ? 41.0 : 37.5) + (i % 7) * 0.2;
    r.steps.push_back({ms, ms * 0.2, ms * 0.8});
  }
  r.ranks = {{0, 0.81, 2300, 0, 1}, {1, 0.78, 2400, 2, 0}};
  r.tasks = {sampleTaskRecord(65536, 40, 1.2), sampleTaskRecord(1 << 20, 300, 1.45),
             sampleTaskRecord(8 << 20, 2600, 1.08)};
  r.notes = {"a note with \"quotes\", <tags> & an umlaut: \xc3\xa4"};
  return r;
}

}  // namespace autoccl
