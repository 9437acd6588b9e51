// The thread that tells the profiler when kernels ran, and the rings that kernels write.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/nccl_double/profiler.h"

namespace autoccl::nccl_double {

/// One communicator's. Per channel there is a ring of 64 start stamps and one of 64 stop stamps: a
/// poller that lags further reads stamps of later works, as with NCCL. Kernels (stream threads)
/// call started and stopped; the launching thread appends what the poller has to look for.
class Progress {
 public:
  static constexpr int kChannels = 64;
  static constexpr uint64_t kSlots = 64;

  Progress(Profiler* profiler, void* context, int rank);
  /// Ends the thread; what has not been told by then is dropped.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The number of the next work on a channel; from 1.
  uint64_t nextWork(int channel) { return ++works_[static_cast<size_t>(channel)]; }
  /// Look for this work of the channel and report it under the collective's handle.
  void append(void* coll, int channel, uint64_t work);
  void started(int channel, uint64_t work, uint64_t stampNs) noexcept;
  void stopped(int channel, uint64_t work, uint64_t stampNs) noexcept;

 private:
  struct Slot {
    std::atomic<uint64_t> work{0}, stampNs{0};
  };
  using Ring = std::array<Slot, kSlots>;
  struct Op {
    void* coll = nullptr;
    int channel = 0;
    uint64_t work = 0;
    bool begun = false;
    void* handle = nullptr;
  };
  void serve();
  bool advance(Op& op);

  Profiler* profiler_;
  void* context_;
  int rank_;
  std::array<uint64_t, kChannels> works_{};
  std::vector<Ring> starts_{kChannels}, stops_{kChannels};
  std::mutex mutex_;
  std::condition_variable filled_;
  std::list<Op> ops_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace autoccl::nccl_double
