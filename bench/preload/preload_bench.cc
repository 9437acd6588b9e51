// What the interposer adds to a call, in front of a fake NCCL that returns at once: the call
// itself, passed on untouched (tuning off), and watched, for one communicator and for many in turn.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "edge/preload/watcher.h"
#include "tests/preload/wrapped.h"

namespace autoccl::preload {

const char* const fakeNcclPath = FAKE_NCCL;

namespace {

using AllReduce = int (*)(const void*, void*, size_t, int, int, Comm, Stream);

void direct(benchmark::State& state) {
  const auto call = reinterpret_cast<AllReduce>(dlsym(fakeNccl(), "pncclAllReduce"));
  for (auto _ : state)
    benchmark::DoNotOptimize(call(nullptr, nullptr, 4096, kFloat32, kSum, nullptr, nullptr));
}
BENCHMARK(direct);

/// range(0): communicators called in turn.
void watched(benchmark::State& state) {
  std::vector<Comm> comms(static_cast<size_t>(state.range(0)));
  for (Comm& comm : comms) ncclCommInitRank(&comm, 8, UniqueId{}, 0);
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        ncclAllReduce(nullptr, nullptr, 4096, kFloat32, kSum, comms[next], nullptr));
    if (++next == comms.size()) next = 0;
  }
  for (const Comm comm : comms) ncclCommDestroy(comm);
}
BENCHMARK(watched)->Arg(1)->Arg(4)->Arg(64);

void watchedGroup(benchmark::State& state) {
  Comm comm = nullptr;
  ncclCommInitRank(&comm, 8, UniqueId{}, 0);
  for (auto _ : state) {
    ncclGroupStart();
    ncclAllReduce(nullptr, nullptr, 4096, kFloat32, kSum, comm, nullptr);
    ncclGroupEnd();
  }
  ncclCommDestroy(comm);
}
BENCHMARK(watchedGroup);

/// Last, since there is no way back.
void untuned(benchmark::State& state) {
  Watcher::retire();
  for (auto _ : state)
    benchmark::DoNotOptimize(
        ncclAllReduce(nullptr, nullptr, 4096, kFloat32, kSum, nullptr, nullptr));
}
BENCHMARK(untuned);

}  // namespace
}  // namespace autoccl::preload

int main(int argc, char** argv) {
  setenv("AUTOCCL_TUNE", "1", 1);
  setenv("AUTOCCL_LOG", "off", 1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
