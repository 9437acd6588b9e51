// The ranks of the job, as the trainer sees them: AutoCCL's C interface in C++ clothes.
#pragma once

#include <autoccl/autoccl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace train {

/// This process among the others: one communicator and one stream. Averages are begun in the order
/// of the calls, the same on all ranks, and run on the stream's own thread while the caller
/// computes. Every function throws std::runtime_error with the library's sentence when a call
/// fails.
class Ranks {
 public:
  /// Rank and size from the launcher's environment. `slots` averages can be
  /// under way at once.
  explicit Ranks(int slots);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Tells the tuner that a training step begins.
  void markStep();
  /// Rank 0's values on all ranks.
  void broadcast(std::span<float> values);
  /// Begins to replace `values` by their mean over all ranks; wait(slot) returns when it is there.
  void beginAverage(int slot, std::span<float> values);
  void wait(int slot);
  [[nodiscard]] double average(double value);
  /// One number of each rank, on all ranks.
  [[nodiscard]] std::vector<uint64_t> gather(uint64_t value);

 private:
  void check(acclResult_t result, const char* call) const;

  acclComm_t comm_ = nullptr;
  acclStream_t stream_ = nullptr;
  std::vector<acclEvent_t> done_;
  int rank_ = 0, size_ = 1;
};

/// Floats that begin on a page: memory that every rank of the host can reach, from the library, or
/// the program's own.
class FloatBuffer {
 public:
  FloatBuffer(size_t count, bool shared);
  [[nodiscard]] std::span<float> span() const { return {memory_.get(), count_}; }

 private:
  size_t count_;
  std::unique_ptr<float, void (*)(float*)> memory_;
};

}  // namespace train
