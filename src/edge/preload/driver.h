// The few calls of the CUDA driver that timing needs.
#pragma once

#include <cstddef>

namespace autoccl::preload {

/// Looked up in the libcuda.so.1 that the process has loaded by itself; we never load one. Results
/// are CUresult as int: 0 is success. Functions are the plain ones, in which stream 0 is the legacy
/// stream, as it is for NCCL. Source: cuda.h 11.4 to 13.0.
struct Driver {
  using Event = void*;
  using Context = void*;
  static constexpr int kNotReady = 600;      // CUDA_ERROR_NOT_READY
  static constexpr int kCaptureNone = 0;     // CU_STREAM_CAPTURE_STATUS_NONE
  static constexpr int kCaptureRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

  int (*contextGetCurrent)(Context*) = nullptr;
  int (*contextSetCurrent)(Context) = nullptr;
  int (*contextGetDevice)(int*) = nullptr;
  int (*exchangeCaptureMode)(int* mode) = nullptr;
  int (*streamIsCapturing)(void* stream, int* status) = nullptr;
  int (*eventCreate)(Event*, unsigned flags) = nullptr;
  int (*eventDestroy)(Event) = nullptr;
  int (*eventRecord)(Event, void* stream) = nullptr;
  int (*eventQuery)(Event) = nullptr;
  int (*streamWaitEvent)(void* stream, Event, unsigned flags) = nullptr;  // may be missing
  int (*memoryInfo)(size_t* free, size_t* total) = nullptr;               // may be missing
  int (*eventElapsedTime)(float* milliseconds, Event start, Event end) = nullptr;

  /// Null where no libcuda.so.1 is loaded (yet), or it lacks one of the calls. Thread-safe, cold:
  /// looks for the library each time until it is there.
  [[nodiscard]] static const Driver* find() noexcept;
  /// What find found last. HOT: one load.
  [[nodiscard]] static const Driver* found() noexcept;
};

}  // namespace autoccl::preload
