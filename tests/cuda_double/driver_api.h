/* The part of the CUDA driver's C interface that the double offers and that our programs use: our
 * own declaration of a binary interface, so that nothing here needs the CUDA toolkit. Names and
 * numbers are CUDA's. */
#ifndef AUTOCCL_TESTS_CUDA_DOUBLE_DRIVER_API_H_
#define AUTOCCL_TESTS_CUDA_DOUBLE_DRIVER_API_H_

#include <cstddef>
#include <cstdint>

extern "C" {

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphExec_st* CUgraphExec;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct {
  char reserved[64];
} CUipcMemHandle;
typedef void (*CUhostFn)(void* userData);

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901
};

/* Stream and event flags; modes and states of a capture. */
enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };
typedef enum {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2
} CUstreamCaptureMode;
typedef enum {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2
} CUstreamCaptureStatus;

/* What a stream's wait for a value compares. */
enum { CU_STREAM_WAIT_VALUE_GEQ = 0 };

/* Attributes of a device that are answered. */
enum {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
};

/* X(result, name, arguments): every call that the double exports. */
#define CUDA_DOUBLE_CALLS(X)                                                                    \
  X(cuInit, (unsigned flags))                                                                   \
  X(cuDriverGetVersion, (int* version))                                                         \
  X(cuGetErrorString, (CUresult error, const char** text))                                      \
  X(cuGetErrorName, (CUresult error, const char** text))                                        \
  X(cuDeviceGetCount, (int* count))                                                             \
  X(cuDeviceGet, (CUdevice * device, int ordinal))                                              \
  X(cuDeviceGetName, (char* name, int bytes, CUdevice device))                                  \
  X(cuDeviceGetPCIBusId, (char* id, int bytes, CUdevice device))                                \
  X(cuDeviceGetAttribute, (int* value, int attribute, CUdevice device))                         \
  X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                           \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                            \
  X(cuCtxSetCurrent, (CUcontext context))                                                       \
  X(cuCtxGetCurrent, (CUcontext * context))                                                     \
  X(cuCtxGetDevice, (CUdevice * device))                                                        \
  X(cuCtxPushCurrent_v2, (CUcontext context))                                                   \
  X(cuCtxPopCurrent_v2, (CUcontext * context))                                                  \
  X(cuCtxSynchronize, (void))                                                                   \
  X(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                       \
  X(cuMemFree_v2, (CUdeviceptr address))                                                        \
  X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes))                          \
  X(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes))                                \
  X(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))           \
  X(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t bytes))                         \
  X(cuStreamCreate, (CUstream * stream, unsigned flags))                                        \
  X(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority))              \
  X(cuStreamDestroy_v2, (CUstream stream))                                                      \
  X(cuStreamSynchronize, (CUstream stream))                                                     \
  X(cuStreamQuery, (CUstream stream))                                                           \
  X(cuStreamGetCtx, (CUstream stream, CUcontext * context))                                     \
  X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                        \
  X(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus * status))                     \
  X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))                       \
  X(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                     \
  X(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))                            \
  X(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags)) \
  X(cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                         \
  X(cuGraphExecDestroy, (CUgraphExec exec))                                                     \
  X(cuGraphDestroy, (CUgraph graph))                                                            \
  X(cuEventCreate, (CUevent * event, unsigned flags))                                           \
  X(cuEventDestroy_v2, (CUevent event))                                                         \
  X(cuEventRecord, (CUevent event, CUstream stream))                                            \
  X(cuEventQuery, (CUevent event))                                                              \
  X(cuEventSynchronize, (CUevent event))                                                        \
  X(cuEventElapsedTime, (float* ms, CUevent start, CUevent end))                                \
  X(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void* userData))                           \
  X(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t * bytes, CUdeviceptr address))         \
  X(cuMemGetInfo_v2, (size_t * free, size_t * total))                                           \
  X(cuMemHostAlloc, (void** address, size_t bytes, unsigned flags))                             \
  X(cuMemFreeHost, (void* address))                                                             \
  X(cuMemHostGetDevicePointer_v2, (CUdeviceptr * device, void* address, unsigned flags))        \
  X(cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr address))                          \
  X(cuIpcOpenMemHandle_v2, (CUdeviceptr * address, CUipcMemHandle handle, unsigned flags))      \
  X(cuIpcCloseMemHandle, (CUdeviceptr address))                                                 \
  X(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                                    \
  X(cuCtxGetStreamPriorityRange, (int* least, int* greatest))                                   \
  X(cuModuleLoadData, (CUmodule * module, const void* image))                                   \
  X(cuModuleUnload, (CUmodule module))                                                          \
  X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))            \
  X(cuLaunchKernel, (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,       \
                     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,   \
                     CUstream stream, void** parameters, void** extra))                         \
  X(cuStreamWriteValue32_v2,                                                                    \
    (CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags))                     \
  X(cuStreamWaitValue32_v2,                                                                     \
    (CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags))                     \
  X(cuGetProcAddress_v2,                                                                        \
    (const char* symbol, void** address, int version, uint64_t flags, int* status))

/// Records of timing events so far, whoever made them; not CUDA's.
unsigned long long cudaDoubleTimings(void);

#define CUDA_DOUBLE_DECLARE(name, arguments) CUresult name arguments;
CUDA_DOUBLE_CALLS(CUDA_DOUBLE_DECLARE)
#undef CUDA_DOUBLE_DECLARE
}
#endif
