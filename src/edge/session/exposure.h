// How long the program has waited for communication: calls on the NULL stream, and waits for
// streams and events.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace autoccl {

/// One clock for the process, over all its threads; counts only while a tuning session is open, so
/// that an untuned program pays one load. Thread-safe.
class Exposure {
 public:
  static void open() noexcept { sessions_.fetch_add(1, std::memory_order_relaxed); }
  static void close() noexcept { sessions_.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] static int64_t totalNs() noexcept {
    return totalNs_.load(std::memory_order_relaxed);
  }

  /// Counts its own life.
  class Wait {
   public:
    Wait() noexcept : startNs_(sessions_.load(std::memory_order_relaxed) > 0 ? nowNs() : 0) {}
    ~Wait() {
      if (startNs_ != 0) totalNs_.fetch_add(nowNs() - startNs_, std::memory_order_relaxed);
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    int64_t startNs_;
  };

 private:
  static inline std::atomic<int> sessions_{0};
  static inline std::atomic<int64_t> totalNs_{0};
};

}  // namespace autoccl
