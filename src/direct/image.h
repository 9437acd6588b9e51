// The compiled kernels.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "direct/cuda.h"
#include "model/types.h"

namespace autoccl::direct {

/// Machine code and PTX of all kernels as cuModuleLoadData takes it; empty where the build had no
/// nvcc.
[[nodiscard]] std::span<const std::byte> embeddedImage() noexcept;

enum class Body : uint8_t { kLL, kLL128, kStaged, kTwoShot, kDirect };
inline constexpr int kBodies = 5;
/// Columns: the types of NCCL that ranks combine, then the widths in which elements are moved.
inline constexpr int kBytesColumn = kDataTypes;
inline constexpr int kWordsColumn = kDataTypes + 1;
inline constexpr int kColumns = kDataTypes + 2;

/// All kernels of a module, loaded before the first call: loading one later could wait for a
/// kernel that waits for us. Owns the module; belongs to the context that is current.
class Kernels {
 public:
  /// Throws Error when the image does not suit this GPU.
  Kernels(const Cuda& cuda, std::span<const std::byte> image);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// Null where there is no such kernel (16-bit integers; a two-shot move).
  [[nodiscard]] CudaFunction find(Body body, int column) const noexcept {
    return functions_[static_cast<size_t>(body)][static_cast<size_t>(column)];
  }

 private:
  const Cuda& cuda_;
  CudaModule module_ = nullptr;
  CudaFunction functions_[kBodies][kColumns] = {};
};

}  // namespace autoccl::direct
