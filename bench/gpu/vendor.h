// NCCL and cuBLAS, found at run time.
#pragma once

#include <string>
#include <vector>

#include "direct/group.h"
#include "team.h"

namespace autoccl::gpubench {

/// One rank of a communicator of the stock library.
class Nccl {
 public:
  /// `path`: of libnccl.so.2, or its name. Throws Error.
  Nccl(const std::string& path, Team& team);
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  /// False where this release has no such collective.
  [[nodiscard]] bool has(Collective collective) const;
  void run(const direct::Call& call) const;
  [[nodiscard]] std::string version() const;

 private:
  struct Calls;
  Calls* calls_;
  void* comm_ = nullptr;
};

/// Matrix products of n x n bfloat16, back to back on a stream of their own.
class Load {
 public:
  /// `path`: of libcublas.so.13 or 12, or its name; tries both where it is empty. Throws Error.
  Load(const std::string& path, const direct::Cuda& cuda, int n);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Enqueues products that take at least this long.
  void start(double microseconds);
  /// Waits for them; microseconds of each.
  [[nodiscard]] double finish();
  /// Of one product when nothing else runs.
  [[nodiscard]] double aloneUs() const { return aloneUs_; }
  /// Whether the products were still running when `event` passed. After finish().
  [[nodiscard]] bool outlasted(direct::CudaEvent event) const;

 private:
  void enqueue(int count);

  const direct::Cuda& cuda_;
  int n_;
  void* handle_ = nullptr;
  int (*destroy_)(void*) = nullptr;
  int (*gemm_)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
               int, const void*, void*, int, int, int, int) = nullptr;
  direct::CudaStream stream_ = nullptr;
  direct::CudaEvent begin_ = nullptr, end_ = nullptr;
  std::vector<direct::DevicePtr> matrices_;
  double aloneUs_ = 0;
  int count_ = 0;
};

}  // namespace autoccl::gpubench
