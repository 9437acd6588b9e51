// What one call pays for its config: take and resolve, for tables of several sizes.
#include <benchmark/benchmark.h>

#include <vector>

#include "agree/agreement.h"
#include "agree/table.h"

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

}  // namespace

BENCHMARK_MAIN();
