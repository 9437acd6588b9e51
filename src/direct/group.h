// The GPU engine: collectives of 2 to 16 GPUs of one host that reach each other's memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "direct/arena.h"
#include "direct/cuda.h"
#include "model/space.h"
#include "transport/rendezvous.h"

namespace autoccl::direct {

/// What a rank brings to a group. `context`: the CUDA context that is current when open is called.
struct Seat {
  UniqueId meeting;
  int rank = 0;
  int nRanks = 2;
  uint64_t memory = uint64_t{128} << 20;  // of this GPU, for the arena
  int64_t timeoutNs = 60'000'000'000;     // of each step of the set-up
  std::span<const std::byte> image;       // embeddedImage(), or the double's
};

/// One call, with NCCL's meaning of count: elements of the whole (AllReduce, Broadcast), of what
/// one rank gives (AllGather) or gets (ReduceScatter), for each peer (AllToAll).
struct Call {
  Collective collective = Collective::kAllReduce;
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  const void* send = nullptr;
  void* recv = nullptr;
  uint64_t count = 0;
  int root = 0;
  double scale = 1;  // kScaledSum
  CudaStream stream = nullptr;
};

enum class Outcome : uint8_t {
  kDone,      // it is on the stream
  kUnsuited,  // this config cannot run this call; nothing was done, alike on all ranks
  kFailed     // the driver refused, or the group is broken: the communicator must fail
};

class GroupState;

/// One rank of a group. All configs of this engine give the same bits: values are combined in rank
/// order, in float32 for narrower floats, and rounded once.
///
/// Contract. All ranks make the same calls with the same configs in the same order, on any streams;
/// calls of a group run one after another on the GPU. Protocol Zero moreover asks that the buffers
/// that peers read (send, of AllReduce and ReduceScatter) or store into (recv, of all others and
/// AllReduce) lie in memory shared by share(), at the same offsets on all ranks; who cannot promise
/// that uses the staged forms, which take any memory of this GPU.
/// Threads. run: one at a time; stop and broken: any.
/// Cost. run: no lock, no allocation, no wait; a few driver calls (one launch for p2p).
/// Errors. open throws Error with a reason that is alike on all ranks: no peer access, MIG,
/// different GPUs, IPC refused, too little memory, CUDA_DEVICE_MAX_CONNECTIONS=1, no kernels in
/// this build. A peer that dies, or stop(), ends every wait on the GPU within about 0.1 s; what was
/// under way then gives garbage, and broken() says so. Lines of LL carry a 32-bit count of calls:
/// one that no call has written for exactly 2^32 - 1 such calls would be taken for fresh.
class Group {
 public:
  [[nodiscard]] static std::unique_ptr<Group> open(const Seat& seat);
  /// Waits for the work of the last call.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// HOT.
  [[nodiscard]] Outcome run(const Call& call, const Config& config) noexcept;
  /// Maps a buffer of each rank into all; a collective call of the set-up, in the same order on all
  /// ranks. False, on all ranks alike, where the memory of one cannot be shared (`why` says it).
  /// The caller calls unshare before the memory is freed, once no call is under way on any rank.
  [[nodiscard]] bool share(void* buffer, uint64_t bytes, std::string& why);
  void unshare(void* buffer) noexcept;
  /// True where protocol Zero may be used for this call.
  [[nodiscard]] bool shared(const Call& call) const noexcept;

  /// Ends all waits; later calls fail. Any thread.
  void stop() noexcept;
  /// Why calls fail; empty while they do not. Static text.
  [[nodiscard]] const char* broken() const noexcept;

  /// Configs for a task; no protocol Zero unless `zero`.
  [[nodiscard]] Space spaceFor(const Task& task, bool zero) const;
  /// A sound config for a task from its size alone, for who does not search.
  [[nodiscard]] Config defaultFor(const Task& task) const;
  [[nodiscard]] const Arena& arena() const noexcept;

 private:
  explicit Group(std::unique_ptr<GroupState> state);
  std::unique_ptr<GroupState> state_;
};

}  // namespace autoccl::direct
