#include "direct/image.h"

#include "base/error.h"

namespace autoccl::direct {
namespace {

constexpr const char* kBodyNames[kBodies] = {"ll", "ll128", "staged", "twoshot", "direct"};

std::string columnName(int column) {
  if (column == kBytesColumn) return "bytes";
  if (column == kWordsColumn) return "words";
  return std::string(toText(static_cast<DataType>(column)));
}

bool exists(Body body, int column) noexcept {
  if (column >= kDataTypes) return body != Body::kTwoShot;
  const auto type = static_cast<DataType>(column);
  return type != DataType::kInt16 && type != DataType::kUint16;  // NCCL has none
}

}  // namespace

Kernels::Kernels(const Cuda& cuda, std::span<const std::byte> image) : cuda_(cuda) {
  if (image.empty())
    throw Error(ErrorCode::kUsage, "this build has no GPU kernels",
                "build it where nvcc of CUDA 11.8 or later is on the path");
  cuda.check(cuda.moduleLoad(&module_, image.data()), "loading the kernels on this GPU");
  for (int b = 0; b < kBodies; ++b)
    for (int c = 0; c < kColumns; ++c) {
      if (!exists(static_cast<Body>(b), c)) continue;
      const std::string name = std::string("autoccl_") + kBodyNames[b] + "_" + columnName(c);
      const int result = cuda.moduleFunction(&functions_[b][c], module_, name.c_str());
      if (result == kCudaSuccess) continue;
      cuda.moduleUnload(module_);
      cuda.check(result, ("finding kernel " + name).c_str());
    }
}

Kernels::~Kernels() {
  cuda_.moduleUnload(module_);
}

}  // namespace autoccl::direct
