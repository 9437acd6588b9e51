// What one call pays for its config: take and resolve, for tables of several sizes; and with it
// for being measured: two clock readings and a report.
#include <benchmark/benchmark.h>

#include <vector>

#include "agree/agreement.h"
#include "agree/link.h"
#include "agree/table.h"
#include "base/clock.h"
#include "edge/session/session_gate.h"
#include "edge/session/session_memory.h"

namespace {

using namespace autoccl;

Task taskOf(int64_t i) {
  Task t;
  t.communicator = 1;
  t.nRanks = 8;
  t.bytes = 1024 + static_cast<uint64_t>(i);
  return t;
}

/// range(0): tasks called in turn; range(1): entries of each task's table.
void takeAndResolve(benchmark::State& state) {
  TaskTable table(1024, 1'000'000'000);
  std::vector<Task> tasks;
  for (int64_t i = 0; i < state.range(0); ++i) {
    tasks.push_back(taskOf(i));
    if (state.range(1) == 0) continue;
    Prepare p{static_cast<uint64_t>(i) + 1, false, {{keyOf(tasks.back()), {}}}};
    for (int64_t e = 0; e < state.range(1); ++e)
      p.tasks[0].entries.push_back({static_cast<uint64_t>(e) * 100, Config{}});
    if (!table.install(p)) table.settle(p, true);
  }
  size_t next = 0;
  for (auto _ : state) {
    Config config;
    const bool good = table.resolve(table.take(tasks[next], config), config);
    benchmark::DoNotOptimize(good);
    benchmark::DoNotOptimize(config);
    if (++next == tasks.size()) next = 0;
  }
}
BENCHMARK(takeAndResolve)->ArgsProduct({{1, 64, 1000}, {0, 1, 64}});

/// range(0): whether an agent empties the ring, as it does; a full ring costs less.
void gatedCall(benchmark::State& state) {
  SessionMemory memory(std::nullopt, 1);
  SampleBoard board(memory.board(), 1);
  Agreement agreement({}, nullptr);
  FlightRecorder recorder;
  SessionGate gate(agreement, board, recorder, 0);
  const Task task = taskOf(0);
  CallSample sample;
  int64_t calls = 0;
  for (auto _ : state) {
    CallRecord record;
    record.taskKey = keyOf(task);
    record.arrivedNs = nowNs();
    const auto ticket = gate.take(task, record.asked);
    benchmark::DoNotOptimize(gate.resolve(ticket, record.asked));
    record.callIndex = ticket.index;
    record.inEffect = record.asked;
    record.finishedNs = nowNs();
    gate.report(record);
    if (state.range(0) == 0 || ++calls % 1024 != 0) continue;
    state.PauseTiming();
    while (board.of(0).samples.pop(sample)) {
    }
    state.ResumeTiming();
  }
}
BENCHMARK(gatedCall)->Arg(0)->Arg(1);

}  // namespace

BENCHMARK_MAIN();
