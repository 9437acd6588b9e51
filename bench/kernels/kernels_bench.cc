// The reduction kernels, one core, beside loops written by hand for their one case.
// Bytes per second are of one source (the size of a collective), not of memory traffic.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "engine/kernels.h"
#include "engine/kernels_table.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace autoccl {
namespace {

constexpr size_t kPage = 4096;

/// Buffers of one size, each from the start of a page, as acclMemAlloc gives them.
class Buffers {
 public:
  Buffers(int count, size_t bytes) {
    for (int i = 0; i < count; ++i) {
      auto* base =
          static_cast<char*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage));
      if (base == nullptr) throw std::bad_alloc();
      std::memset(base, 0, bytes);
      blocks_.emplace_back(base);
      at_.push_back(base);
    }
  }
  [[nodiscard]] void* const* at(int first = 0) const { return at_.data() + first; }
  [[nodiscard]] const void* const* read() const {
    return const_cast<const void* const*>(at_.data());
  }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::vector<std::unique_ptr<char, Free>> blocks_;
  std::vector<void*> at_;
};

void setRate(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * static_cast<int64_t>(state.iterations()));
}

/// nSrc sources summed into the first nDst of them (in place), as the fast path of AllReduce does.
void sumInPlace(benchmark::State& state, const KernelTable* table, DataType type) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const int nSrc = static_cast<int>(state.range(1)), nDst = static_cast<int>(state.range(2));
  if (table == nullptr) return state.SkipWithError("this processor lacks the instructions");
  const Buffers buffers(nSrc, bytes);
  const Reduction r{buffers.read(), nSrc,           buffers.at(), nDst, bytes / sizeOf(type),
                    type,           ReduceOp::kSum, nullptr,      0,    false};
  for (auto _ : state) reduceWith(*table, r);
  setRate(state, bytes);
}

/// Sources into destinations that were not read.
void sumApart(benchmark::State& state, bool nonTemporal) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Buffers buffers(3, bytes);
  const Reduction r{
      buffers.read(), 2, buffers.at(2), 1, bytes / 4, DataType::kFloat32, ReduceOp::kSum,
      nullptr,        0, nonTemporal};
  for (auto _ : state) reduce(r);
  setRate(state, bytes);
}

void copyApart(benchmark::State& state, bool nonTemporal) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Buffers buffers(2, bytes);
  for (auto _ : state) copyBytes(buffers.at(1), 1, buffers.read()[0], bytes, nonTemporal);
  setRate(state, bytes);
}

#if defined(__x86_64__)
/// a = b = a + b, the loop that the kernels are held against.
__attribute__((target("avx2"))) void sumTwoByHand(float* a, float* b, size_t count) {
  for (size_t i = 0; i < count; i += 32)
    for (size_t k = i; k < i + 32; k += 8) {
      const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(a + k), _mm256_loadu_ps(b + k));
      _mm256_storeu_ps(a + k, sum);
      _mm256_storeu_ps(b + k, sum);
    }
}

void byHand(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Buffers buffers(2, bytes);
  for (auto _ : state)
    sumTwoByHand(static_cast<float*>(buffers.at()[0]), static_cast<float*>(buffers.at()[1]),
                 bytes / 4);
  setRate(state, bytes);
}
#endif

constexpr int64_t kKi = 1024, kMi = 1024 * kKi;

void registerAll() {
  const std::vector<int64_t> sizes{16 * kKi, kMi, 16 * kMi};
#if defined(__x86_64__)
  for (const int64_t bytes : sizes) benchmark::RegisterBenchmark("byHand/avx2", byHand)->Arg(bytes);
#endif
  for (const KernelTable* table : {plainKernels(), avx2Kernels(), avx512Kernels()}) {
    if (table == nullptr) continue;
    const std::string name(table->name);
    for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16,
                                DataType::kBfloat16, DataType::kFloat8e4m3, DataType::kInt32}) {
      auto* b = benchmark::RegisterBenchmark(
          ("sum/" + name + "/" + std::string(toText(type))).c_str(), sumInPlace, table, type);
      for (const int64_t bytes : sizes) b->Args({bytes, 2, 2});
    }
    auto* fan = benchmark::RegisterBenchmark(("fan/" + name + "/float32").c_str(), sumInPlace,
                                             table, DataType::kFloat32);
    for (const int n : {2, 4, 8, 16, 64})
      for (const int64_t bytes : {64 * kKi, kMi}) fan->Args({bytes, n, 1})->Args({bytes, n, n});
  }
  for (const bool nonTemporal : {false, true}) {
    const char* how = nonTemporal ? "/stream" : "/cached";
    benchmark::RegisterBenchmark((std::string("sumApart") + how).c_str(), sumApart, nonTemporal)
        ->Arg(16 * kMi)
        ->Arg(64 * kMi);
    benchmark::RegisterBenchmark((std::string("copyApart") + how).c_str(), copyApart, nonTemporal)
        ->Arg(16 * kMi)
        ->Arg(64 * kMi);
  }
}

}  // namespace
}  // namespace autoccl

int main(int argc, char** argv) {
  autoccl::registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
