// The part of the CUDA driver that the engine uses, found at run time: nothing here links CUDA or
// needs its headers. Names and numbers are CUDA's. Source: cuda.h 11.7 to 13.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace autoccl::direct {

using DevicePtr = unsigned long long;
using CudaStream = void*;
using CudaEvent = void*;
using CudaContext = void*;
using CudaModule = void*;
using CudaFunction = void*;

struct IpcHandle {
  char bytes[64];
};

inline constexpr int kCudaSuccess = 0;
inline constexpr int kCudaNotReady = 600;
inline constexpr int kPeerAccessAlready = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventNoTiming = 2;
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr unsigned kHostPortable = 1;
inline constexpr unsigned kHostMapped = 2;
inline constexpr unsigned kWaitGeq = 0;

/// X(member, name, arguments).
#define ACCL_CUDA_CALLS(X)                                                                         \
  X(init, cuInit, (unsigned flags))                                                                \
  X(errorString, cuGetErrorString, (int error, const char** text))                                 \
  X(deviceGetCount, cuDeviceGetCount, (int* count))                                                \
  X(deviceGet, cuDeviceGet, (int* device, int ordinal))                                            \
  X(deviceGetName, cuDeviceGetName, (char* name, int bytes, int device))                           \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int* value, int attribute, int device))             \
  X(deviceGetPciBusId, cuDeviceGetPCIBusId, (char* id, int bytes, int device))                     \
  X(primaryContextRetain, cuDevicePrimaryCtxRetain, (CudaContext * context, int device))           \
  X(contextSetCurrent, cuCtxSetCurrent, (CudaContext context))                                     \
  X(contextGetCurrent, cuCtxGetCurrent, (CudaContext * context))                                   \
  X(contextGetDevice, cuCtxGetDevice, (int* device))                                               \
  X(contextSynchronize, cuCtxSynchronize, ())                                                      \
  X(contextPriorities, cuCtxGetStreamPriorityRange, (int* least, int* greatest))                   \
  X(contextEnablePeer, cuCtxEnablePeerAccess, (CudaContext peer, unsigned flags))                  \
  X(memoryInfo, cuMemGetInfo_v2, (size_t * free, size_t * total))                                  \
  X(memoryAlloc, cuMemAlloc_v2, (DevicePtr * address, size_t bytes))                               \
  X(memoryFree, cuMemFree_v2, (DevicePtr address))                                                 \
  X(memoryRange, cuMemGetAddressRange_v2, (DevicePtr * base, size_t * bytes, DevicePtr address))   \
  X(hostAlloc, cuMemHostAlloc, (void** address, size_t bytes, unsigned flags))                     \
  X(hostFree, cuMemFreeHost, (void* address))                                                      \
  X(hostDevicePointer, cuMemHostGetDevicePointer_v2,                                               \
    (DevicePtr * device, void* address, unsigned flags))                                           \
  X(copyToDevice, cuMemcpyHtoD_v2, (DevicePtr to, const void* from, size_t bytes))                 \
  X(copyToHost, cuMemcpyDtoH_v2, (void* to, DevicePtr from, size_t bytes))                         \
  X(copyAsync, cuMemcpyAsync, (DevicePtr to, DevicePtr from, size_t bytes, CudaStream stream))     \
  X(fill, cuMemsetD8_v2, (DevicePtr to, unsigned char value, size_t bytes))                        \
  X(ipcExport, cuIpcGetMemHandle, (IpcHandle * handle, DevicePtr address))                         \
  X(ipcOpen, cuIpcOpenMemHandle_v2, (DevicePtr * address, IpcHandle handle, unsigned flags))       \
  X(ipcClose, cuIpcCloseMemHandle, (DevicePtr address))                                            \
  X(streamCreate, cuStreamCreateWithPriority, (CudaStream * stream, unsigned flags, int priority)) \
  X(streamDestroy, cuStreamDestroy_v2, (CudaStream stream))                                        \
  X(streamSynchronize, cuStreamSynchronize, (CudaStream stream))                                   \
  X(streamWaitEvent, cuStreamWaitEvent, (CudaStream stream, CudaEvent event, unsigned flags))      \
  X(streamWrite, cuStreamWriteValue32_v2,                                                          \
    (CudaStream stream, DevicePtr address, uint32_t value, unsigned flags))                        \
  X(streamWait, cuStreamWaitValue32_v2,                                                            \
    (CudaStream stream, DevicePtr address, uint32_t value, unsigned flags))                        \
  X(eventCreate, cuEventCreate, (CudaEvent * event, unsigned flags))                               \
  X(eventDestroy, cuEventDestroy_v2, (CudaEvent event))                                            \
  X(eventRecord, cuEventRecord, (CudaEvent event, CudaStream stream))                              \
  X(eventSynchronize, cuEventSynchronize, (CudaEvent event))                                       \
  X(eventElapsed, cuEventElapsedTime, (float* ms, CudaEvent start, CudaEvent end))                 \
  X(moduleLoad, cuModuleLoadData, (CudaModule * module, const void* image))                        \
  X(moduleUnload, cuModuleUnload, (CudaModule module))                                             \
  X(moduleFunction, cuModuleGetFunction,                                                           \
    (CudaFunction * function, CudaModule module, const char* name))                                \
  X(launch, cuLaunchKernel,                                                                        \
    (CudaFunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,       \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, CudaStream stream, void** parameters, \
     void** extra))

/// The driver's functions. Results are CUresult as int; stream 0 is the legacy stream.
struct Cuda {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration, where they would not parse
#define ACCL_CUDA_MEMBER(member, name, arguments) int(*member) arguments = nullptr;
  ACCL_CUDA_CALLS(ACCL_CUDA_MEMBER)
#undef ACCL_CUDA_MEMBER

  /// The driver that the process has loaded, or with `load` one that is loaded now; null where
  /// there is none or it lacks a call. Thread-safe; one look-up in a process once it is found.
  [[nodiscard]] static const Cuda* find(bool load) noexcept;
  [[nodiscard]] std::string textOf(int result) const;
  /// Throws Error naming `what` unless the result is success.
  void check(int result, const char* what) const;
};

}  // namespace autoccl::direct
