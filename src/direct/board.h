// Where the ranks of a group show each other what they have, in host memory that they share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "direct/cuda.h"
#include "direct/kernels/arguments.h"
#include "transport/rendezvous.h"

namespace autoccl::direct {

/// A rank's GPU, as far as a group cares.
struct DeviceFacts {
  std::array<char, 64> name{};
  std::array<char, 32> busId{};
  int major = 0;
  int minor = 0;
  uint64_t memory = 0;
};

/// What a rank shows. `why` is not empty where it cannot go on; then nobody does.
struct Post {
  std::array<char, 256> why{};
  int pid = 0;
  DeviceFacts device;
  IpcHandle handle{};
  uint64_t offset = 0;   // into the allocation that the handle means
  uint64_t address = 0;  // in the poster's own process
  uint64_t bytes = 0;
  bool streams = false;  // stream memory operations work

  void fail(const std::string& reason);
};

/// Set-up only: meet() blocks until all ranks have posted. One thread of each rank.
class Board {
 public:
  /// Throws Error when a rank does not come in time.
  Board(const UniqueId& id, int rank, int nRanks, int64_t timeoutNs);
  /// Posts, waits for all, and gives what each has posted. Throws Error: a time-out that names the
  /// missing ranks; the first rank's `why`, alike on all ranks. The span is good until the next
  /// call but one.
  const Post* meet(const Post& mine) { return meet(mine, timeoutNs_); }
  const Post* meet(const Post& mine, int64_t timeoutNs);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int nRanks() const noexcept { return nRanks_; }

 private:
  struct Turn {
    std::array<std::atomic<uint64_t>, kMaxRanks> posted;  // how many posts this rank has made
    std::array<Post, kMaxRanks> posts;
  };
  struct Shared {
    std::array<Turn, 2> turns;  // a rank that reads the last turn is not overtaken
  };

  std::shared_ptr<Segment> segment_;
  int rank_;
  int nRanks_;
  int64_t timeoutNs_;
  uint64_t meetings_ = 0;
};

}  // namespace autoccl::direct
