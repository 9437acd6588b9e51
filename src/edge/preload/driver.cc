#include "edge/preload/driver.h"

#include <dlfcn.h>

#include <atomic>

namespace autoccl::preload {
namespace {

std::atomic<const Driver*> current{nullptr};

template <class Function>
bool take(void* library, const char* name, Function& into) noexcept {
  into = reinterpret_cast<Function>(dlsym(library, name));
  return into != nullptr;
}

bool takeAll(void* library, Driver& d) noexcept {
  (void)take(library, "cuStreamWaitEvent", d.streamWaitEvent);
  (void)take(library, "cuMemGetInfo_v2", d.memoryInfo);
  return take(library, "cuCtxGetCurrent", d.contextGetCurrent) &&
         take(library, "cuCtxSetCurrent", d.contextSetCurrent) &&
         take(library, "cuCtxGetDevice", d.contextGetDevice) &&
         take(library, "cuThreadExchangeStreamCaptureMode", d.exchangeCaptureMode) &&
         take(library, "cuStreamIsCapturing", d.streamIsCapturing) &&
         take(library, "cuEventCreate", d.eventCreate) &&
         take(library, "cuEventDestroy_v2", d.eventDestroy) &&
         take(library, "cuEventRecord", d.eventRecord) &&
         take(library, "cuEventQuery", d.eventQuery) &&
         take(library, "cuEventElapsedTime", d.eventElapsedTime);
}

}  // namespace

const Driver* Driver::found() noexcept {
  return current.load(std::memory_order_acquire);
}

const Driver* Driver::find() noexcept {
  if (const Driver* known = found()) return known;
  // Kept open: its functions are called until the process ends.
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  static Driver driver;
  static const bool whole = takeAll(library, driver);
  if (whole) current.store(&driver, std::memory_order_release);
  return found();
}

}  // namespace autoccl::preload
