// The CUDA driver for test programs: found at run time, so that a program runs on the double and on
// a GPU alike, and builds without the toolkit.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/cuda_double/driver_api.h"

namespace autoccl::testing {

/// Every call of driver_api.h as a pointer; null where the driver lacks it.
struct Driver {
#define AUTOCCL_DRIVER_POINTER(name, arguments) CUresult(*name) arguments = nullptr;
  CUDA_DOUBLE_CALLS(AUTOCCL_DRIVER_POINTER)
#undef AUTOCCL_DRIVER_POINTER
  bool found = false;
};

inline const Driver& driver() {
  static const Driver loaded = [] {
    Driver d;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return d;
#define AUTOCCL_DRIVER_FIND(name, arguments) \
  d.name = reinterpret_cast<decltype(d.name)>(dlsym(library, #name));
    CUDA_DOUBLE_CALLS(AUTOCCL_DRIVER_FIND)
#undef AUTOCCL_DRIVER_FIND
    d.found = d.cuInit != nullptr && d.cuInit(0) == CUDA_SUCCESS;
    return d;
  }();
  return loaded;
}

/// Ends the program with a line if the call failed: a test has nothing to save.
inline void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, result);
  std::_Exit(1);
}

inline void useDevice(int device) {
  CUcontext context = nullptr;
  must(driver().cuDevicePrimaryCtxRetain(&context, device), "context");
  must(driver().cuCtxSetCurrent(context), "context");
}

/// Memory of the device, and its contents as vectors.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes) : bytes_(bytes) {
    must(driver().cuMemAlloc_v2(&address_, bytes), "memory");
  }
  ~DeviceBuffer() { (void)driver().cuMemFree_v2(address_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  [[nodiscard]] void* data(size_t offset = 0) const {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(address_ + offset));
  }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  template <class T>
  void write(const std::vector<T>& from) {
    must(driver().cuMemcpyHtoD_v2(address_, from.data(), from.size() * sizeof(T)), "copy");
    // The copy out of pageable memory may still be on its way when the call returns, and a stream
    // of its own would not wait for it.
    must(driver().cuStreamSynchronize(nullptr), "copy");
  }
  template <class T>
  [[nodiscard]] std::vector<T> read(size_t count) const {
    std::vector<T> into(count);
    must(driver().cuMemcpyDtoH_v2(into.data(), address_, count * sizeof(T)), "copy");
    return into;
  }

 private:
  CUdeviceptr address_ = 0;
  size_t bytes_;
};

}  // namespace autoccl::testing
