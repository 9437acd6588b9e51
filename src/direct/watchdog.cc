#include "direct/watchdog.h"

#include <chrono>

#include "transport/quiet_thread.h"

namespace autoccl::direct {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(20);
constexpr uint32_t kBeyond = 1u << 30;  // half of what the cyclic comparison can tell apart
constexpr const char* kDied = "a rank of the GPUs' group has died";

}  // namespace

Watchdog::Watchdog(const Watched& watched, const StreamCounts& counts)
    : w_(watched), counts_(counts) {
  const Cuda& cuda = *w_.cuda;
  int least = 0, greatest = 0;
  cuda.check(cuda.contextPriorities(&least, &greatest), "asking for the streams' priorities");
  cuda.check(cuda.streamCreate(&stream_, kStreamNonBlocking, greatest), "making a stream");
  void* word = nullptr;
  cuda.check(cuda.hostAlloc(&word, sizeof(uint32_t), kHostPortable | kHostMapped),
             "allocating host memory that the GPU reads");
  hostWord_ = new (word) std::atomic<uint32_t>(0);
  DevicePtr seen = 0;
  cuda.check(cuda.hostDevicePointer(&seen, word, 0), "mapping host memory for the GPU");
  deviceWord_ = reinterpret_cast<const uint32_t*>(seen);
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (stream_ != nullptr) w_.cuda->streamDestroy(stream_);
  if (hostWord_ != nullptr) w_.cuda->hostFree(hostWord_);
}

void Watchdog::start() {
  thread_ = startQuietThread("accl-watchdog", [this] { serve(); });
}

void Watchdog::stop(const char* why) noexcept {
  const char* none = nullptr;
  why_.compare_exchange_strong(none, why);
  // At a process's end the driver has taken its memory back: it says so.
  CudaContext any = nullptr;
  if (w_.cuda->contextGetCurrent(&any) == kCudaSuccess) hostWord_->store(1);
  wake_.notify_all();
}

void Watchdog::serve() {
  w_.cuda->contextSetCurrent(w_.context);
  std::unique_lock lock(mutex_);
  while (!ending_) {
    wake_.wait_for(lock, kPeriod);
    if (why() == nullptr && alive_.findDead([](int) { return true; }) >= 0) stop(kDied);
    if (why() != nullptr) release();  // again and again: a living peer may lower a flag
  }
}

void Watchdog::release() noexcept {
  for (uint32_t kind = 0; kind < kStreamFlags; ++kind)
    for (int peer = 0; peer < w_.nRanks; ++peer) {
      if (peer == w_.rank) continue;
      const auto from = static_cast<uint32_t>(peer);
      const uint64_t at = w_.arena.streamFlag(static_cast<StreamFlag>(kind), from);
      const uint32_t heard = counts_.heard[kind][from].load(std::memory_order_relaxed);
      w_.cuda->streamWrite(stream_, w_.memory + at, heard + kBeyond, 0);
    }
}

}  // namespace autoccl::direct
