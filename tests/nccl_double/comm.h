// What an ncclComm_t of the double points to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/communicator.h"
#include "tests/nccl_double/bootstrap.h"
#include "tests/nccl_double/channels.h"
#include "tests/nccl_double/cost.h"
#include "tests/nccl_double/cuda.h"
#include "tests/nccl_double/nccl.h"
#include "tests/nccl_double/profiler.h"
#include "tests/nccl_double/progress.h"
#include "tests/nccl_double/trace.h"
#include "tests/nccl_double/tuner.h"

namespace autoccl::nccl_double {

/// A collective between its call and its launch.
struct CollTask {
  nccl::Func func = nccl::kFuncAllReduce;
  Call call;  // what the engine will run
  size_t count = 0, elementBytes = 1;
  ncclDataType_t dtype = ncclInt8;  // AllGather and Broadcast are counted in bytes
  int op = ncclSum;
  size_t trafficPerByte = 1, traffic = 0;
  cudaStream_t stream = nullptr;
  int mask = 0;  // of the profiler, when the call was made
  void *groupApi = nullptr, *collApi = nullptr;
  // decided for its aggregate:
  int algo = -1, proto = -1, nMaxChannels = 0, warps = 0;
  bool corrupts = false;  // the pair's results are wrong here (LL128 where it is not safe)
  // decided for itself:
  int first = 0, channels = 0;
  size_t chunk = 0;
};

/// One rank's entry for one call in memory that all ranks share: who runs what, since when.
struct CallSlot {
  static constexpr uint64_t kDepth = 64;
  uint64_t digest = 0;       // of algorithm, protocol, channels
  uint64_t chunkDigest = 0;  // of the chunk
  int64_t arrivedNs = 0;
};
/// Two halves in turn: who writes round n+2 has seen all others write n+1, so they have read n.
struct SplitSlot {
  std::atomic<uint32_t> round{0};
  int color[2] = {}, key[2] = {};
};

/// Settings of a communicator: ncclConfig_t after the environment had its say.
struct CommConfig {
  bool blocking = true;
  int minCTAs = 1, maxCTAs = 64;
  int ctaPolicy = NCCL_CTA_POLICY_DEFAULT;
  bool collnet = false;
  std::string name;
};

}  // namespace autoccl::nccl_double

struct ncclComm {
  ncclComm() = default;
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  int rank = 0, nRanks = 1, device = 0;
  uint64_t commHash = 0;
  std::string token;  // under which the engine's ranks meet
  autoccl::nccl_double::CommConfig config;
  autoccl::nccl_double::Machine machine;
  autoccl::nccl_double::Limits limits;
  autoccl::nccl_double::Allowed allowed;
  std::vector<autoccl::nccl_double::PeerInfo> peers;

  std::unique_ptr<autoccl::Communicator> engine;
  autoccl::nccl_double::Trace trace;
  autoccl::nccl_double::Tuner* tuner = nullptr;
  void* tunerContext = nullptr;
  bool tunerLoadedHere = false;
  autoccl::nccl_double::Profiler* profiler = nullptr;
  void* profilerContext = nullptr;
  std::unique_ptr<autoccl::nccl_double::Progress> progress;

  std::vector<autoccl::nccl_double::CollTask> tasks;  // of the open group
  std::vector<autoccl::Letter> letters;
  std::vector<cudaStream_t> letterStreams;
  std::vector<std::shared_ptr<void>> captured;  // plans that graphs replay
  uint64_t sequence[autoccl::nccl::kFuncs] = {};
  uint64_t calls = 0;  // executed, on the stream's thread
  uint32_t splits = 0;

  std::mutex registeredMutex;
  struct Registered {
    const char* begin = nullptr;
    size_t bytes = 0;
  };
  std::vector<std::unique_ptr<Registered>> registered;
  struct ScaledOp {
    bool used = false;
    double factor = 1;
    const void* device = nullptr;
    ncclDataType_t dtype = ncclFloat32;
  };
  std::vector<ScaledOp> scaledOps;

  std::atomic<int> asyncError{ncclSuccess};
  volatile bool abortFlag = false;
  std::atomic<bool> finalized{false};
  std::thread job;  // of a non-blocking communicator: its start or its last group
  std::atomic<int> underWay{0};
  cudaStream_t lastStream = nullptr;
  bool launched = false;
  CUevent orderEvent = nullptr;

  [[nodiscard]] autoccl::nccl_double::CallSlot& slot(int ofRank, uint64_t call) const;
  [[nodiscard]] autoccl::nccl_double::SplitSlot& splitSlot(int ofRank) const;
  [[nodiscard]] bool holds(const void* address, size_t bytes);
  /// ncclSuccess if calls may be made on it now.
  [[nodiscard]] ncclResult_t usable();
  /// Waits until everything launched is over.
  void drain() const;
};

namespace autoccl::nccl_double {

/// Bytes of shared memory that a communicator of the double needs.
[[nodiscard]] size_t sharedBytes(int nRanks);
/// Reads a user's config (may be null) as far as its size reaches, then the variables over it.
[[nodiscard]] ncclResult_t readConfig(const ncclConfig_t* user, CommConfig& config);

/// Where the ranks of a communicator come from: a unique id, or a parent.
struct Birth {
  ncclUniqueId id{};
  ncclComm_t parent = nullptr;
  std::vector<int> parentRanks;  // of the new ranks
};
/// Everything between the call and a communicator that works: peers, engine, channels, plugins.
/// Blocks until all ranks have come.
[[nodiscard]] ncclResult_t startComm(ncclComm& comm, const Birth& birth);

/// Colors and keys of all ranks of `parent`, through memory they share. False: aborted.
[[nodiscard]] bool gatherColors(ncclComm& parent, int color, int key,
                                std::vector<std::pair<int, int>>& all);

}  // namespace autoccl::nccl_double
