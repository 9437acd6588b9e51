// libcuda.so.1's double: devices, contexts, memory, streams, events and graphs on host threads and
// host memory. CUDA_DOUBLE_DEVICES says how many devices there are (8); the device that
// CUDA_DOUBLE_OTHER or CUDA_DOUBLE_MIG names is of another kind, or a slice.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "tests/cuda_double/stream.h"

#define DOUBLE_API extern "C" __attribute__((visibility("default")))

struct CUctx_st {
  CUdevice device = 0;
  std::mutex mutex;
  std::vector<CUstream> streams;
  CUstream defaultStream = nullptr;
};

namespace autoccl::cuda_double {
namespace {

constexpr int kMaxDevices = 64;
constexpr int kDriverVersion = 13000;

int deviceCount() {
  static const int count = [] {
    const char* text = std::getenv("CUDA_DOUBLE_DEVICES");
    const int asked = text != nullptr ? std::atoi(text) : 8;
    return asked < 0 ? 0 : asked > kMaxDevices ? kMaxDevices : asked;
  }();
  return count;
}

/// Contexts live as long as the process: the threads of their streams may outlive main.
std::array<CUctx_st, kMaxDevices>& contexts() {
  static auto* all = [] {
    auto* made = new std::array<CUctx_st, kMaxDevices>;
    for (int d = 0; d < kMaxDevices; ++d) (*made)[static_cast<size_t>(d)].device = d;
    return made;
  }();
  return *all;
}

thread_local CUcontext current = nullptr;
thread_local std::vector<CUcontext> stack;

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

CUcontext currentOrFirst() {
  return current != nullptr ? current : contexts().data();
}

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

/// A copy that the caller waits for comes after the work of the default stream.
CUresult copyNow(void* to, const void* from, size_t bytes) {
  if (spoilsCapture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  resolve(nullptr)->synchronize();
  std::memcpy(to, from, bytes);
  return CUDA_SUCCESS;
}

struct Named {
  const char* name;
  void* address;
};
#define CUDA_DOUBLE_ENTRY(name, arguments) {#name, reinterpret_cast<void*>(&(name))},
const Named kCalls[] = {CUDA_DOUBLE_CALLS(CUDA_DOUBLE_ENTRY)};
#undef CUDA_DOUBLE_ENTRY

std::atomic<unsigned long long> timings{0};

}  // namespace

bool deviceKnown(CUdevice device) {
  return device >= 0 && device < deviceCount();
}

void enlist(CUstream stream) {
  CUctx_st& context = *stream->context();
  const std::lock_guard lock(context.mutex);
  context.streams.push_back(stream);
}

void strike(CUstream stream) {
  CUctx_st& context = *stream->context();
  const std::lock_guard lock(context.mutex);
  std::erase(context.streams, stream);
}

CUstream_st* resolve(CUstream stream) {
  // 0x1 and 0x2 are CUDA's names for the legacy and the per-thread default stream.
  if (reinterpret_cast<uintptr_t>(stream) > 2) return stream;
  CUctx_st& context = *currentOrFirst();
  const std::lock_guard lock(context.mutex);
  if (context.defaultStream == nullptr) context.defaultStream = new CUstream_st(&context);
  return context.defaultStream;
}

void synchronizeDevice() {
  CUctx_st& context = *currentOrFirst();
  resolve(nullptr)->synchronize();
  std::vector<CUstream> streams;
  {
    const std::lock_guard lock(context.mutex);
    streams = context.streams;
  }
  for (const CUstream stream : streams) stream->synchronize();
}

}  // namespace autoccl::cuda_double

using namespace autoccl::cuda_double;

// ---- the driver and its devices ----

DOUBLE_API CUresult cuInit(unsigned flags) {
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
DOUBLE_API CUresult cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "an error of the driver's double";
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuDeviceGetCount(int* count) {
  *count = deviceCount();
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!deviceKnown(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  if (!deviceKnown(device)) return CUDA_ERROR_INVALID_DEVICE;
  const auto is = [device](const char* setting) {
    const char* text = std::getenv(setting);
    return text != nullptr && std::atoi(text) == device;
  };
  std::snprintf(name, static_cast<size_t>(bytes), "double of %s",
                is("CUDA_DOUBLE_OTHER") ? "another GPU"
                : is("CUDA_DOUBLE_MIG") ? "a GPU MIG 1g"
                                        : "a GPU");
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuDeviceGetPCIBusId(char* id, int bytes, CUdevice device) {
  if (!deviceKnown(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(id, static_cast<size_t>(bytes), "0000:%02X:00.0", device + 1);
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  if (!deviceKnown(device)) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      *value = device + 1;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      return CUDA_SUCCESS;
    default:
      *value = 0;
      return CUDA_SUCCESS;
  }
}

// ---- contexts ----

DOUBLE_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!deviceKnown(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = &contexts()[static_cast<size_t>(device)];
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return deviceKnown(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
DOUBLE_API CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuCtxGetDevice(CUdevice* device) {
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = current->device;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  stack.push_back(current);
  current = context;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = current;
  current = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuCtxSynchronize(void) {
  if (spoilsCapture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  synchronizeDevice();
  return CUDA_SUCCESS;
}

// ---- memory ----

DOUBLE_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return copyNow(pointer(to), from, bytes);
}
DOUBLE_API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copyNow(to, pointer(from), bytes);
}
DOUBLE_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  resolve(stream)->enqueue([to, from, bytes] { std::memcpy(pointer(to), pointer(from), bytes); });
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes) {
  if (spoilsCapture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  resolve(nullptr)->synchronize();
  std::memset(pointer(to), value, bytes);
  return CUDA_SUCCESS;
}

// ---- streams ----

DOUBLE_API CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  if (flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  *stream = new CUstream_st(currentOrFirst());
  enlist(*stream);
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  (void)priority;
  return cuStreamCreate(stream, flags);
}
DOUBLE_API CUresult cuStreamDestroy_v2(CUstream stream) {
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return CUDA_ERROR_INVALID_HANDLE;
  strike(stream);
  delete stream;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuStreamSynchronize(CUstream stream) {
  if (spoilsCapture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  resolve(stream)->synchronize();
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuStreamQuery(CUstream stream) {
  if (spoilsCapture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return resolve(stream)->idle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
DOUBLE_API CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  *context = resolve(stream)->context();
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void* userData) {
  if (fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  resolve(stream)->enqueue([fn, userData] { fn(userData); });
  return CUDA_SUCCESS;
}

// ---- captures and graphs ----

DOUBLE_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const auto capture = resolve(stream)->capture();
  *status = !capture           ? CU_STREAM_CAPTURE_STATUS_NONE
            : capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                               : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return beginCapture(resolve(stream), mode);
}
DOUBLE_API CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return endCapture(resolve(stream), graph);
}
DOUBLE_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  exchangeMode(mode);
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                unsigned long long flags) {
  (void)flags;
  *exec = new CUgraphExec_st{graph->work};
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  CUstream_st* target = resolve(stream);
  for (const Work& work : exec->work) target->enqueue(work);
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete exec;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}

// ---- events ----

DOUBLE_API CUresult cuEventCreate(CUevent* event, unsigned flags) {
  *event = new CUevent_st;
  (*event)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuEventDestroy_v2(CUevent event) {
  delete event;  // a mark under way belongs to the work that sets it
  return CUDA_SUCCESS;
}
DOUBLE_API unsigned long long cudaDoubleTimings(void) {
  return timings.load();
}
DOUBLE_API CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->timed) timings.fetch_add(1);
  CUstream_st* target = resolve(stream);
  auto mark = std::make_shared<Mark>();
  auto capture = target->capture();
  target->enqueue([mark] {
    mark->timeNs = nowNs();
    mark->passed = true;
    mark->passed.notify_all();
  });
  const std::lock_guard lock(event->mutex);
  event->mark = std::move(mark);
  event->capture = std::move(capture);
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  (void)flags;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CUstream_st* target = resolve(stream);
  const std::lock_guard lock(event->mutex);
  if (event->mark == nullptr) return CUDA_SUCCESS;
  if (event->capture) {
    if (event->capture->ended) return CUDA_SUCCESS;
    // The stream joins the capture; the order of its work is the order of the calls.
    if (!target->capture()) target->setCapture(event->capture);
    return CUDA_SUCCESS;
  }
  target->enqueue([mark = event->mark] { mark->passed.wait(false); });
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuEventQuery(CUevent event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (spoilsCapture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const std::lock_guard lock(event->mutex);
  return event->mark == nullptr || event->mark->passed ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
DOUBLE_API CUresult cuEventSynchronize(CUevent event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (spoilsCapture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  std::shared_ptr<Mark> mark;
  {
    const std::lock_guard lock(event->mutex);
    mark = event->mark;
  }
  if (mark) mark->passed.wait(false);
  return CUDA_SUCCESS;
}
DOUBLE_API CUresult cuEventElapsedTime(float* ms, CUevent start, CUevent end) {
  if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Mark> marks[2];
  for (int i = 0; i < 2; ++i) {
    CUevent event = i == 0 ? start : end;
    const std::lock_guard lock(event->mutex);
    if (!event->timed || event->mark == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    marks[i] = event->mark;
  }
  if (!marks[0]->passed || !marks[1]->passed) return CUDA_ERROR_NOT_READY;
  *ms = static_cast<float>(static_cast<double>(marks[1]->timeNs - marks[0]->timeNs) * 1e-6);
  return CUDA_SUCCESS;
}

// ---- look-up ----

DOUBLE_API CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version,
                                        uint64_t flags, int* status) {
  (void)version;
  (void)flags;
  *address = nullptr;
  // Callers give the name without its version, or with it.
  for (const char* suffix : {"", "_v2"}) {
    const std::string name = std::string(symbol) + suffix;
    for (const Named& call : kCalls)
      if (name == call.name) *address = call.address;
    if (*address != nullptr) break;
  }
  if (status != nullptr) *status = *address != nullptr ? 0 : 1;
  return *address != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

DOUBLE_API CUresult cuGetProcAddress(const char* symbol, void** address, int version,
                                     uint64_t flags) {
  return cuGetProcAddress_v2(symbol, address, version, flags, nullptr);
}

DOUBLE_API CUresult cuEventElapsedTime_v2(float* ms, CUevent start, CUevent end) {
  return cuEventElapsedTime(ms, start, end);
}
