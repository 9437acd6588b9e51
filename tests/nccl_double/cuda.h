// The driver calls that the double makes, found at run time as NCCL finds them.
#pragma once

#include "tests/cuda_double/driver_api.h"

namespace autoccl::nccl_double {

struct Cuda {
  decltype(&::cuCtxGetCurrent) ctxGetCurrent = nullptr;
  decltype(&::cuCtxSetCurrent) ctxSetCurrent = nullptr;
  decltype(&::cuCtxGetDevice) ctxGetDevice = nullptr;
  decltype(&::cuDeviceGetAttribute) deviceGetAttribute = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) devicePrimaryCtxRetain = nullptr;
  decltype(&::cuLaunchHostFunc) launchHostFunc = nullptr;
  decltype(&::cuStreamIsCapturing) streamIsCapturing = nullptr;
  decltype(&::cuStreamWaitEvent) streamWaitEvent = nullptr;
  decltype(&::cuEventCreate) eventCreate = nullptr;
  decltype(&::cuEventRecord) eventRecord = nullptr;
  decltype(&::cuEventDestroy_v2) eventDestroy = nullptr;
  decltype(&::cudaDoubleTimings) doubleTimings = nullptr;  // the look-alike's alone
  bool found = false;
};

/// libcuda.so.1's calls; found is false where there is no driver.
[[nodiscard]] const Cuda& cuda();

/// Makes a device's primary context current for a scope.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  CUcontext before_ = nullptr;
};

/// The device of the current context, or 0.
[[nodiscard]] int currentDevice();

}  // namespace autoccl::nccl_double
