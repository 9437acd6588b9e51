// One buffer of every rank, each reachable from this one.
#pragma once

#include <array>
#include <cstdint>

#include "direct/board.h"
#include "direct/cuda.h"

namespace autoccl::direct {

/// A collective of the set-up: all ranks make theirs in the same order. Of ranks in this process
/// the memory is taken as it is, of others it is mapped by CUDA IPC. Throws Error, on all ranks
/// with the first one's reason.
class PeerMemory {
 public:
  /// `mine`: in memory of the current context's device, anywhere in an allocation.
  PeerMemory(const Cuda& cuda, Board& board, DevicePtr mine, uint64_t bytes);
  /// Unmaps; nobody may be using the memory.
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  [[nodiscard]] char* of(int rank) const noexcept { return at_[static_cast<size_t>(rank)]; }
  [[nodiscard]] DevicePtr mine() const noexcept { return mine_; }
  [[nodiscard]] uint64_t bytes() const noexcept { return bytes_; }

 private:
  void exportTo(Post& post) const;
  void open(const Post* posts, Post& result);
  void close() noexcept;

  const Cuda& cuda_;
  int rank_;
  int nRanks_;
  DevicePtr mine_;
  uint64_t bytes_;
  std::array<char*, kMaxRanks> at_{};
  std::array<DevicePtr, kMaxRanks> opened_{};
};

/// Lets the current context reach the memory of the peers' devices in this process. Fills
/// result.why where that is refused.
void enablePeers(const Cuda& cuda, const Post* posts, const Board& board, Post& result);

}  // namespace autoccl::direct
