// The double's calls for memory that processes share, kernels, and stream memory operations.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "tests/cuda_double/kernels.h"
#include "tests/cuda_double/memory.h"
#include "tests/cuda_double/stream.h"

#define DOUBLE_API extern "C" __attribute__((visibility("default")))

namespace autoccl::cuda_double {
namespace {

const NamedKernel* table() {
  static const NamedKernel* const kernels = [] {
    Dl_info here{};
    dladdr(reinterpret_cast<const void*>(&table), &here);
    std::string path = here.dli_fname != nullptr ? here.dli_fname : "";
    path.resize(path.rfind('/') + 1);
    void* library = dlopen((path + "libdirect_kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return static_cast<const NamedKernel*>(nullptr);
    using Give = decltype(&cudaDoubleKernels);
    const auto give = reinterpret_cast<Give>(dlsym(library, "cudaDoubleKernels"));
    return give != nullptr ? give() : nullptr;
  }();
  return kernels;
}

std::atomic_ref<uint32_t> wordAt(CUdeviceptr address) {
  return std::atomic_ref(*reinterpret_cast<uint32_t*>(static_cast<uintptr_t>(address)));
}

}  // namespace
}  // namespace autoccl::cuda_double

using namespace autoccl::cuda_double;

// ---- memory ----

DOUBLE_API CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (spoilsCapture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  *address = allocate(bytes);
  return *address != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
DOUBLE_API CUresult cuMemFree_v2(CUdeviceptr address) {
  if (spoilsCapture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  synchronizeDevice();
  return release(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
DOUBLE_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return rangeOf(address, base, bytes) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
DOUBLE_API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  constexpr size_t kGiB = size_t{1} << 30;
  const char* text = std::getenv("CUDA_DOUBLE_FREE_MIB");
  *total = 8 * kGiB;
  *free = text != nullptr ? static_cast<size_t>(std::atoll(text)) << 20 : *total;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  (void)flags;
  *address = std::calloc(1, bytes);
  return *address != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
DOUBLE_API CUresult cuMemFreeHost(void* address) {
  std::free(address);
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* address,
                                                 unsigned flags) {
  (void)flags;
  *device = static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(address));
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  if (std::getenv("CUDA_DOUBLE_NO_IPC") != nullptr) return CUDA_ERROR_INVALID_VALUE;
  return exportHandle(handle, address);
}
DOUBLE_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle,
                                          unsigned flags) {
  (void)flags;
  return openHandle(address, handle);
}
DOUBLE_API CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return release(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
DOUBLE_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  (void)flags;
  if (std::getenv("CUDA_DOUBLE_NO_PEERS") != nullptr) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return peer != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
DOUBLE_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}

// ---- kernels ----

DOUBLE_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (image == nullptr || table() == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  *module = reinterpret_cast<CUmodule>(const_cast<NamedKernel*>(table()));
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuModuleUnload(CUmodule module) {
  return module != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
DOUBLE_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  (void)module;
  for (const NamedKernel* kernel = table(); kernel->name != nullptr; ++kernel)
    if (std::strcmp(kernel->name, name) == 0) {
      *function = reinterpret_cast<CUfunction>(reinterpret_cast<void*>(kernel->run));
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}
// NOLINTNEXTLINE(readability-function-size): the parameters are CUDA's
DOUBLE_API CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned, unsigned,
                                   unsigned blockX, unsigned, unsigned, unsigned, CUstream stream,
                                   void** parameters, void** extra) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (extra != nullptr || gridX == 0 || blockX == 0 || blockX > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  const auto run = reinterpret_cast<HostKernel>(reinterpret_cast<void*>(function));
  void* copy = run(0, parameters);
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  resolve(stream)->enqueue([run, gridX, copy = std::shared_ptr<void>(copy, std::free)] {
    void* kept = copy.get();
    run(gridX, &kept);
  });
  return CUDA_SUCCESS;
}

// ---- stream memory operations ----

DOUBLE_API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                            unsigned flags) {
  (void)flags;
  resolve(stream)->enqueue(
      [address, value] { wordAt(address).store(value, std::memory_order_release); });
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                           unsigned flags) {
  if (flags != CU_STREAM_WAIT_VALUE_GEQ) return CUDA_ERROR_INVALID_VALUE;
  resolve(stream)->enqueue([address, value] {
    while (static_cast<int32_t>(wordAt(address).load(std::memory_order_acquire) - value) < 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  });
  return CUDA_SUCCESS;
}
