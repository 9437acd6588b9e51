#include "tests/cuda_double/stream.h"

#include <utility>

using autoccl::cuda_double::Capture;

CUstream_st::CUstream_st(CUcontext owner) : context_(owner) {
  thread_ = std::thread([this] { serve(); });
}

CUstream_st::~CUstream_st() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  filled_.notify_all();
  thread_.join();
}

void CUstream_st::enqueue(Work work) {
  const std::lock_guard lock(mutex_);
  if (capture_ && !capture_->ended) {
    capture_->work.push_back(std::move(work));
    return;
  }
  queue_.push_back(std::move(work));
  filled_.notify_one();
}

void CUstream_st::synchronize() {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

bool CUstream_st::idle() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !busy_;
}

std::shared_ptr<Capture> CUstream_st::capture() const {
  const std::lock_guard lock(mutex_);
  return capture_ && !capture_->ended ? capture_ : nullptr;
}

void CUstream_st::setCapture(std::shared_ptr<Capture> capture) {
  const std::lock_guard lock(mutex_);
  capture_ = std::move(capture);
}

void CUstream_st::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    filled_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    busy_ = false;
    if (queue_.empty()) emptied_.notify_all();
  }
}

namespace autoccl::cuda_double {
namespace {

/// Captures under way: in the process, and those that this thread began.
struct Captures {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> active;
};

Captures& captures() {
  static auto* all = new Captures;  // outlives the threads of streams
  return *all;
}

thread_local CUstreamCaptureMode threadMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
thread_local int threadCaptures = 0;

}  // namespace

bool spoilsCapture() {
  if (threadMode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  bool spoilt = false;
  const std::lock_guard lock(captures().mutex);
  for (const auto& capture : captures().active) {
    const bool anywhere = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                          threadMode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    const bool here = capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && threadCaptures > 0;
    if (!anywhere && !here) continue;
    capture->invalid = true;
    spoilt = true;
  }
  return spoilt;
}

CUresult beginCapture(CUstream stream, CUstreamCaptureMode mode) {
  if (stream->capture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  stream->setCapture(capture);
  const std::lock_guard lock(captures().mutex);
  captures().active.push_back(std::move(capture));
  ++threadCaptures;
  return CUDA_SUCCESS;
}

CUresult endCapture(CUstream stream, CUgraph* graph) {
  const auto capture = stream->capture();
  if (!capture) return CUDA_ERROR_INVALID_VALUE;
  capture->ended = true;
  {
    const std::lock_guard lock(captures().mutex);
    std::erase(captures().active, capture);
    --threadCaptures;
  }
  if (capture->invalid) {
    *graph = nullptr;
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  *graph = new CUgraph_st{capture->work};
  return CUDA_SUCCESS;
}

void exchangeMode(CUstreamCaptureMode* mode) {
  std::swap(threadMode, *mode);
}

}  // namespace autoccl::cuda_double
