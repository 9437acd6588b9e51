#include "bench/load.h"

#include <sched.h>

#include <Eigen/Dense>
#include <chrono>

#include "base/clock.h"
#include "base/error.h"

namespace autoccl::bench {
namespace {

/// The product is done in column stripes, so that a thread notices soon that it shall stop.
struct LoadShape {
  int edge = 0;
  int stripes = 1;
  bool rests = false;
};

LoadShape shapeOf(LoadKind kind) noexcept {
  if (kind == LoadKind::kLight) return {192, 1, true};
  return {1024, 16, false};
}

}  // namespace

Load::Load(LoadKind kind, const std::vector<int>& cores) : startNs_(nowNs()), kind_(kind) {
  if (kind == LoadKind::kNone) return;
#if defined(__AVX2__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    throw Error(ErrorCode::kSystem, "bench: the compute load needs a processor with AVX2 and FMA",
                "use --compute none");
#endif
  for (const int core : cores) threads_.emplace_back([this, core] { work(core); });
}

Load::~Load() {
  stop_.store(true, std::memory_order_relaxed);
  for (std::thread& t : threads_) t.join();
}

double Load::gflops() const noexcept {
  if (threads_.empty()) return 0;
  const LoadShape shape = shapeOf(kind_);
  const auto edge = static_cast<double>(shape.edge);
  const double flops = 2 * edge * edge * (edge / shape.stripes);
  return flops * static_cast<double>(products_.load(std::memory_order_relaxed)) /
         static_cast<double>(nowNs() - startNs_);
}

void Load::work(int core) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
  const LoadShape shape = shapeOf(kind_);
  using Matrix = Eigen::MatrixXf;
  const Matrix a = Matrix::Constant(shape.edge, shape.edge, 0.01f);
  const Matrix b = Matrix::Constant(shape.edge, shape.edge, 0.02f);
  Matrix c(shape.edge, shape.edge);
  const int width = shape.edge / shape.stripes;
  for (int s = 0; !stop_.load(std::memory_order_relaxed); s = (s + 1) % shape.stripes) {
    const int64_t from = nowNs();
    auto out = c.middleCols(s * width, width);
    out.noalias() = a * b.middleCols(s * width, width);
    out = (1.0f + (-out.array()).exp()).inverse().matrix();
    products_.fetch_add(1, std::memory_order_relaxed);
    if (shape.rests) std::this_thread::sleep_for(std::chrono::nanoseconds(nowNs() - from));
  }
}

}  // namespace autoccl::bench
