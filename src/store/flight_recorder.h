// Which config each rank ran last, on a page that outlives the process: with the journal it names
// the trial that ended a job.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config.h"

namespace autoccl {

/// A small file mapped by every rank of a host, one cache line a rank. A store into it survives the
/// death of the process, though not of the machine; then the journal alone speaks, and speaks of a
/// whole round of trials.
/// ran: any thread, one at a time per rank. HOT: three stores. Everything else: set-up.
class FlightRecorder {
 public:
  FlightRecorder() = default;
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  /// Rank 0, before the others open it: an empty file of mode 0600. Throws Error.
  static void create(const std::string& path, int nRanks);
  /// Maps this rank's line. False, and inert, where there is no such file.
  bool open(const std::string& path, int rank) noexcept;

  void ran(const Config& config, uint64_t callIndex) noexcept {
    Line* const line = line_.load(std::memory_order_acquire);
    if (line == nullptr) return;
    uint64_t words[2];
    __builtin_memcpy(words, &config, sizeof words);
    line->first.store(words[0], std::memory_order_relaxed);
    line->second.store(words[1], std::memory_order_relaxed);
    line->call.store(callIndex + 1, std::memory_order_relaxed);
  }

  /// What each rank that ran any ran last; nothing where the file is missing or no such file.
  [[nodiscard]] static std::optional<std::vector<Config>> read(const std::string& path);

 private:
  struct alignas(64) Line {
    std::atomic<uint64_t> first, second;
    std::atomic<uint64_t> call;  // index + 1; 0: none yet
  };
  static constexpr uint64_t kMagic = 0x3152465f4c434341;  // "ACCL_FR1"

  std::atomic<Line*> line_{nullptr};
  void* map_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace autoccl
