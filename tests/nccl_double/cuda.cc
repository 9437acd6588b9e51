#include "tests/nccl_double/cuda.h"

#include <dlfcn.h>

#include <type_traits>

namespace autoccl::nccl_double {
namespace {

Cuda load() {
  Cuda c;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return c;
  bool all = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    all = all && function != nullptr;
  };
  find(c.ctxGetCurrent, "cuCtxGetCurrent");
  find(c.ctxSetCurrent, "cuCtxSetCurrent");
  find(c.ctxGetDevice, "cuCtxGetDevice");
  find(c.deviceGetAttribute, "cuDeviceGetAttribute");
  find(c.devicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(c.launchHostFunc, "cuLaunchHostFunc");
  find(c.streamIsCapturing, "cuStreamIsCapturing");
  find(c.streamWaitEvent, "cuStreamWaitEvent");
  find(c.eventCreate, "cuEventCreate");
  find(c.eventRecord, "cuEventRecord");
  find(c.eventDestroy, "cuEventDestroy_v2");
  c.found = all;
  c.doubleTimings =
      reinterpret_cast<decltype(c.doubleTimings)>(dlsym(library, "cudaDoubleTimings"));
  return c;
}

}  // namespace

const Cuda& cuda() {
  static const Cuda loaded = load();
  return loaded;
}

OnDevice::OnDevice(int device) {
  cuda().ctxGetCurrent(&before_);
  CUcontext context = nullptr;
  if (cuda().devicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS)
    cuda().ctxSetCurrent(context);
}

OnDevice::~OnDevice() {
  cuda().ctxSetCurrent(before_);
}

int currentDevice() {
  CUdevice device = 0;
  return cuda().ctxGetDevice(&device) == CUDA_SUCCESS ? device : 0;
}

}  // namespace autoccl::nccl_double
