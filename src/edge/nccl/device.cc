#include "edge/nccl/device.h"

#include <dlfcn.h>

namespace autoccl::nccl {
namespace {

using GetDevice = int (*)(int* device);  // CUresult cuCtxGetDevice(CUdevice*)

GetDevice findGetDevice() noexcept {
  void* driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  return driver == nullptr ? nullptr : reinterpret_cast<GetDevice>(dlsym(driver, "cuCtxGetDevice"));
}

}  // namespace

int currentDevice() noexcept {
  static const GetDevice getDevice = findGetDevice();
  int device = -1;
  return getDevice != nullptr && getDevice(&device) == 0 ? device : -1;
}

}  // namespace autoccl::nccl
