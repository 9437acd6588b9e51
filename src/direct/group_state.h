// What a group's parts share. Included by src/direct/*.cc alone.
#pragma once

#include <list>
#include <memory>

#include "direct/group.h"
#include "direct/image.h"
#include "direct/peer_memory.h"
#include "direct/watchdog.h"

namespace autoccl::direct {

/// Owns a rank's side of a group; made by open() in the order of its members.
class GroupState {
 public:
  explicit GroupState(const Seat& seat);
  ~GroupState();
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  const Cuda& cuda;
  Board board;
  const int rank;
  const int nRanks;
  CudaContext context = nullptr;
  Arena arena;
  DevicePtr memory = 0;  // of the arena
  bool streamsWork = false;
  std::unique_ptr<Kernels> kernels;
  std::unique_ptr<PeerMemory> peers;
  StreamCounts counts;
  std::unique_ptr<Watchdog> watchdog;
  Members members;
  std::list<PeerMemory> sharedBuffers;

  CudaStream side = nullptr;     // the engine's own: pushes of copy engines
  CudaEvent forked = nullptr;    // what the side stream waits for
  CudaEvent joined = nullptr;    // what the user's stream waits for at the end
  CudaEvent lastCall = nullptr;  // on lastStream
  CudaStream lastStream = nullptr;
  bool anyCall = false;
  uint64_t epoch = 0;  // of staged and direct calls
  uint64_t lineCalls = 0;

  /// The shared buffer that holds all of these bytes, or null.
  [[nodiscard]] const PeerMemory* bufferOf(const void* at, uint64_t bytes) const noexcept;

 private:
  void say(const char* what) const;  // for who looks for the step that hangs
  void facts(Post& post) const;
  void make(Post& post, const Seat& seat);
  void meetPeers(const Post* posts);
  void tryWords();
  [[nodiscard]] bool tryStreams() const;
  void release() noexcept;
};

/// Where a call's pieces are, and how it is laid out; the same facts for both transports.
struct Planned {
  Exchange exchange;
  Geometry geometry;
  uint64_t sendBytes = 0;  // of the whole buffers
  uint64_t recvBytes = 0;
};
[[nodiscard]] Planned planCall(const GroupState& state, const Call& call, const Config& config);
/// The column of the kernels for this call's elements.
[[nodiscard]] int columnOf(const Call& call, const Exchange& exchange) noexcept;

/// One call by kernels, or by copy engines. CUresult of the first call that failed, else 0.
[[nodiscard]] int runKernels(GroupState& state, const Call& call, const Config& config,
                             const Planned& planned) noexcept;
[[nodiscard]] int runEngines(GroupState& state, const Call& call, const Config& config,
                             const Planned& planned) noexcept;
/// A launch; CUDA's code.
[[nodiscard]] int launch(const Cuda& cuda, CudaFunction function, const Geometry& geometry,
                         CudaStream stream, void* arguments) noexcept;

}  // namespace autoccl::direct
