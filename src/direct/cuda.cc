#include "direct/cuda.h"

#include <dlfcn.h>

#include <mutex>

#include "base/error.h"

namespace autoccl::direct {
namespace {

template <class Function>
bool take(void* library, const char* name, Function& into) noexcept {
  into = reinterpret_cast<Function>(dlsym(library, name));
  return into != nullptr;
}

bool takeAll(void* library, Cuda& cuda) noexcept {
  bool whole = true;
#define ACCL_CUDA_TAKE(member, name, arguments) whole = take(library, #name, cuda.member) && whole;
  ACCL_CUDA_CALLS(ACCL_CUDA_TAKE)
#undef ACCL_CUDA_TAKE
  return whole;
}

}  // namespace

const Cuda* Cuda::find(bool load) noexcept {
  static std::mutex mutex;
  static Cuda cuda;
  static bool whole = false;
  const std::lock_guard lock(mutex);
  if (whole) return &cuda;
  // Kept open: its functions are called until the process ends.
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | (load ? 0 : RTLD_NOLOAD));
  if (library == nullptr) return nullptr;
  whole = takeAll(library, cuda);
  return whole ? &cuda : nullptr;
}

std::string Cuda::textOf(int result) const {
  const char* text = nullptr;
  if (errorString(result, &text) == kCudaSuccess && text != nullptr) return text;
  return "CUDA error " + std::to_string(result);
}

void Cuda::check(int result, const char* what) const {
  if (result != kCudaSuccess)
    throw Error(ErrorCode::kSystem, std::string(what) + " failed: " + textOf(result));
}

}  // namespace autoccl::direct
