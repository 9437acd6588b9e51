// A stream of the driver's double: work in order on a host thread; events; what a capture keeps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/cuda_double/driver_api.h"

namespace autoccl::cuda_double {

using Work = std::function<void()>;

/// The mark that one cuEventRecord sets; a stream that waits later holds on to this one.
struct Mark {
  std::atomic<bool> passed{false};
  std::atomic<int64_t> timeNs{0};
};

/// What has been captured so far: work in an order that every dependency allows. Shared by all
/// streams that joined the capture through an event.
struct Capture {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::vector<Work> work;
  std::atomic<bool> invalid{false};
  std::atomic<bool> ended{false};
};

}  // namespace autoccl::cuda_double

/// Thread-safe. The destructor finishes all work first, as cuStreamDestroy does in effect.
struct CUstream_st {
  using Work = autoccl::cuda_double::Work;

  explicit CUstream_st(CUcontext owner);
  ~CUstream_st();
  CUstream_st(const CUstream_st&) = delete;
  CUstream_st& operator=(const CUstream_st&) = delete;

  /// Queues the work, or keeps it in the capture that is under way.
  void enqueue(Work work);
  void synchronize();
  [[nodiscard]] bool idle() const;
  [[nodiscard]] CUcontext context() const { return context_; }

  [[nodiscard]] std::shared_ptr<autoccl::cuda_double::Capture> capture() const;
  void setCapture(std::shared_ptr<autoccl::cuda_double::Capture> capture);

 private:
  void serve();

  CUcontext context_;
  mutable std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<Work> queue_;
  std::shared_ptr<autoccl::cuda_double::Capture> capture_;
  bool busy_ = false, stop_ = false;
  std::thread thread_;
};

struct CUevent_st {
  bool timed = true;
  std::mutex mutex;
  std::shared_ptr<autoccl::cuda_double::Mark> mark;        // of the last record; null: never
  std::shared_ptr<autoccl::cuda_double::Capture> capture;  // if that was in a capture
};

struct CUgraph_st {
  std::vector<autoccl::cuda_double::Work> work;
};
struct CUgraphExec_st {
  std::vector<autoccl::cuda_double::Work> work;
};

namespace autoccl::cuda_double {

/// True, and every capture in global mode is spoiled, if this thread may not make a call that could
/// synchronise now: a capture in global mode is under way anywhere, or a thread-local one here, and
/// the thread has not exchanged its mode to relaxed.
[[nodiscard]] bool spoilsCapture();
[[nodiscard]] CUresult beginCapture(CUstream stream, CUstreamCaptureMode mode);
[[nodiscard]] CUresult endCapture(CUstream stream, CUgraph* graph);
void exchangeMode(CUstreamCaptureMode* mode);

/// The stream that a handle means: null is the default stream of the thread's current device.
[[nodiscard]] CUstream_st* resolve(CUstream stream);
[[nodiscard]] bool deviceKnown(CUdevice device);
/// Waits for all streams of the current device.
void synchronizeDevice();
void enlist(CUstream stream);
void strike(CUstream stream);

}  // namespace autoccl::cuda_double
