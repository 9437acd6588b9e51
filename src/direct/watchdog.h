// Ends the GPU's waits when a peer has died or the group is stopped.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "direct/arena.h"
#include "direct/cuda.h"
#include "transport/liveness.h"

namespace autoccl::direct {

/// How often each peer has been told, or is to be heard of, by stream memory operations: pairwise,
/// since a peer that takes no part in a call is not told of it. Both ends count alike.
struct StreamCounts {
  using Row = std::array<std::atomic<uint32_t>, kMaxRanks>;
  std::array<Row, kStreamFlags> told{};
  std::array<Row, kStreamFlags> heard{};
};

/// Kernels' waits read a word in host memory; waits of streams end when the flag that they watch is
/// raised past anything they could wait for, by a stream of our own whose priority keeps it out of
/// the queues of ordinary streams. Looks every 20 ms; takes no lock that a call holds.
class Watchdog {
 public:
  struct Watched {
    const Cuda* cuda = nullptr;
    CudaContext context = nullptr;
    Arena arena;
    DevicePtr memory = 0;  // of my arena
    int rank = 0;
    int nRanks = 0;
  };
  /// Throws Error.
  Watchdog(const Watched& watched, const StreamCounts& counts);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Set-up: a peer in another process.
  void watch(int rank, int pid) { alive_.watch(rank, pid); }
  void start();
  /// Any thread; does not wait.
  void stop(const char* why) noexcept;
  /// Why everything ends; null while nothing does. HOT.
  [[nodiscard]] const char* why() const noexcept { return why_.load(std::memory_order_acquire); }
  /// The word that kernels read, as the GPU sees it.
  [[nodiscard]] const uint32_t* word() const noexcept { return deviceWord_; }

 private:
  void serve();
  void release() noexcept;

  Watched w_;
  const StreamCounts& counts_;
  Liveness alive_;
  std::atomic<const char*> why_{nullptr};
  std::atomic<uint32_t>* hostWord_ = nullptr;
  const uint32_t* deviceWord_ = nullptr;
  CudaStream stream_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace autoccl::direct
