// The ranks of one run: processes forked from one, who meet in memory that they share.
#pragma once

#include <atomic>
#include <cstddef>

namespace autoccl::gpubench {

/// Made before the fork; each rank then takes its place. Waits end after a minute with an Error.
class Team {
 public:
  static constexpr int kMost = 16;

  explicit Team(int nRanks);
  void enter(int rank) { rank_ = rank; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int nRanks() const { return nRanks_; }

  void meet();
  /// The largest of all ranks' values, on every rank.
  [[nodiscard]] double most(double mine);
  /// Rank 0's bytes, on every rank; at most 256.
  void fromFirst(void* bytes, size_t n);

 private:
  struct Shared;
  Shared* shared_;
  int nRanks_;
  int rank_ = 0;
};

}  // namespace autoccl::gpubench
