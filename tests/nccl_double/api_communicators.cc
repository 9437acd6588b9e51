// Communicators: start, split, end, questions; memory and registration.
#include <cstring>

#include "tests/nccl_double/api.h"
#include "tests/nccl_double/group.h"
#include "tests/nccl_double/log.h"
#include "tests/nccl_double/release.h"
#include "transport/regions.h"

namespace autoccl::nccl_double {
namespace {

ncclResult_t begin(ncclComm_t* handle, int nRanks, int rank, const ncclConfig_t* config, int device,
                   Birth birth, uint64_t hash) {
  if (handle == nullptr || nRanks < 1 || rank < 0 || rank >= nRanks) {
    warn("rank %d of %d is out of range", rank, nRanks);
    return groupError(ncclInvalidArgument);
  }
  if (!cuda().found) {
    warn("no CUDA driver");
    return groupError(ncclUnhandledCudaError);
  }
  *handle = nullptr;
  auto comm = std::make_unique<ncclComm>();
  comm->rank = rank;
  comm->nRanks = nRanks;
  comm->device = device;
  comm->commHash = hash;
  if (const ncclResult_t read = readConfig(config, comm->config); read != ncclSuccess)
    return groupError(read);
  groupOpen();
  groupAddStart(handle, std::move(comm), std::move(birth));
  return groupClose(nullptr);
}

uint64_t childHash(const ncclComm& parent, uint32_t number, int color) {
  const uint64_t words[] = {parent.commHash, number, static_cast<uint64_t>(color)};
  return hashOf(words, sizeof words);
}

/// A child inherits its parent's settings where it has no config of its own.
ncclConfig_t inherited(const ncclComm& parent) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = parent.config.blocking ? 1 : 0;
  config.minCTAs = parent.config.minCTAs;
  config.maxCTAs = parent.config.maxCTAs;
  config.collnetEnable = parent.config.collnet ? 1 : 0;
  config.CTAPolicy = parent.config.ctaPolicy;
  return config;
}

ncclResult_t finish(ncclComm* comm) {
  if (comm->job.joinable()) comm->job.join();
  if (!comm->abortFlag && comm->engine && !comm->engine->broken()) comm->drain();
  return ncclSuccess;
}

}  // namespace
}  // namespace autoccl::nccl_double

using namespace autoccl::nccl_double;

NCCL_DOUBLE_API(ncclResult_t, GetVersion, int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = release().version;
  return ncclSuccess;
}

NCCL_DOUBLE_API(ncclResult_t, GetUniqueId, ncclUniqueId* id) {
  if (id == nullptr) return ncclInvalidArgument;
  return makeUniqueId(*id) ? ncclSuccess : ncclSystemError;
}

NCCL_DOUBLE_API(ncclResult_t, CommInitRankConfig, ncclComm_t* comm, int nranks, ncclUniqueId id,
                int rank, ncclConfig_t* config) {
  Birth birth;
  birth.id = id;
  return begin(comm, nranks, rank, config, currentDevice(), birth, 0);
}

NCCL_DOUBLE_API(ncclResult_t, CommInitRank, ncclComm_t* comm, int nranks, ncclUniqueId id,
                int rank) {
  Birth birth;
  birth.id = id;
  return begin(comm, nranks, rank, nullptr, currentDevice(), birth, 0);
}

NCCL_DOUBLE_API(ncclResult_t, CommInitRankScalable, ncclComm_t* comm, int nranks, int rank, int nId,
                ncclUniqueId* ids, ncclConfig_t* config) {
  if (nId < 1 || ids == nullptr) return ncclInvalidArgument;
  Birth birth;
  birth.id = ids[0];
  return begin(comm, nranks, rank, config, currentDevice(), birth, 0);
}

NCCL_DOUBLE_API(ncclResult_t, CommInitAll, ncclComm_t* comms, int ndev, const int* devlist) {
  if (comms == nullptr || ndev < 1) return ncclInvalidArgument;
  Birth birth;
  // Through the exported name, so that an interposer sees it as it does with NCCL.
  if (const ncclResult_t made = ncclGetUniqueId(&birth.id); made != ncclSuccess) return made;
  groupOpen();
  for (int r = 0; r < ndev; ++r)
    (void)begin(&comms[r], ndev, r, nullptr, devlist != nullptr ? devlist[r] : r, birth, 0);
  return groupClose(nullptr);
}

NCCL_DOUBLE_API(ncclResult_t, CommSplit, ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                ncclConfig_t* config) {
  if (comm == nullptr || newcomm == nullptr || color < NCCL_SPLIT_NOCOLOR)
    return groupError(ncclInvalidArgument);
  if (const ncclResult_t state = comm->usable(); state != ncclSuccess) return groupError(state);
  *newcomm = nullptr;
  std::vector<std::pair<int, int>> all;
  if (!gatherColors(*comm, color, key, all)) return groupError(ncclRemoteError);
  if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
  Birth birth;
  birth.parent = comm;
  for (int r = 0; r < comm->nRanks; ++r)
    if (all[static_cast<size_t>(r)].first == color) birth.parentRanks.push_back(r);
  std::stable_sort(birth.parentRanks.begin(), birth.parentRanks.end(), [&](int a, int b) {
    return all[static_cast<size_t>(a)].second < all[static_cast<size_t>(b)].second;
  });
  const auto mine = std::find(birth.parentRanks.begin(), birth.parentRanks.end(), comm->rank);
  const auto rank = static_cast<int>(mine - birth.parentRanks.begin());
  const auto n = static_cast<int>(birth.parentRanks.size());
  const ncclConfig_t kept = inherited(*comm);
  return begin(newcomm, n, rank, config != nullptr ? config : &kept, comm->device, birth,
               childHash(*comm, comm->splits, color));
}

NCCL_DOUBLE_API(ncclResult_t, CommShrink, ncclComm_t comm, int* excludeRanks, int nExclude,
                ncclComm_t* newcomm, ncclConfig_t* config, int flags) {
  if (release().version < 22700) return ncclInvalidUsage;
  if (comm == nullptr || newcomm == nullptr || nExclude < 1) return groupError(ncclInvalidArgument);
  if ((flags & NCCL_SHRINK_ABORT) != 0) comm->engine->abort();
  Birth birth;
  birth.parent = comm;
  int rank = -1;
  for (int r = 0; r < comm->nRanks; ++r) {
    if (std::find(excludeRanks, excludeRanks + nExclude, r) != excludeRanks + nExclude) continue;
    if (r == comm->rank) rank = static_cast<int>(birth.parentRanks.size());
    birth.parentRanks.push_back(r);
  }
  const auto n = static_cast<int>(birth.parentRanks.size());
  const ncclConfig_t kept = inherited(*comm);
  constexpr int kShrinkColor = -2;
  return begin(newcomm, n, rank, config != nullptr ? config : &kept, comm->device, birth,
               childHash(*comm, ++comm->splits, kShrinkColor));
}

NCCL_DOUBLE_API(ncclResult_t, CommFinalize, ncclComm_t comm) {
  if (comm == nullptr) return ncclInvalidArgument;
  if (const ncclResult_t state = comm->usable(); state != ncclSuccess) return state;
  comm->finalized = true;
  return finish(comm);
}

NCCL_DOUBLE_API(ncclResult_t, CommDestroy, ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  const ncclResult_t result = finish(comm);
  delete comm;
  return result;
}

NCCL_DOUBLE_API(ncclResult_t, CommAbort, ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  comm->abortFlag = true;
  if (comm->job.joinable()) comm->job.join();
  // The engine breaks on all ranks where NCCL would leave the others waiting; with nothing under
  // way nobody is left waiting.
  if (comm->engine && comm->underWay > 0) comm->engine->abort();
  comm->drain();
  delete comm;
  return ncclSuccess;
}

NCCL_DOUBLE_API(ncclResult_t, CommGetAsyncError, ncclComm_t comm, ncclResult_t* error) {
  if (comm == nullptr || error == nullptr) return ncclInvalidArgument;
  *error = static_cast<ncclResult_t>(comm->asyncError.load());
  return ncclSuccess;
}
NCCL_DOUBLE_API(ncclResult_t, CommCount, const ncclComm_t comm, int* count) {
  if (comm == nullptr || count == nullptr) return ncclInvalidArgument;
  *count = comm->nRanks;
  return ncclSuccess;
}
NCCL_DOUBLE_API(ncclResult_t, CommCuDevice, const ncclComm_t comm, int* device) {
  if (comm == nullptr || device == nullptr) return ncclInvalidArgument;
  *device = comm->device;
  return ncclSuccess;
}
NCCL_DOUBLE_API(ncclResult_t, CommUserRank, const ncclComm_t comm, int* rank) {
  if (comm == nullptr || rank == nullptr) return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}

NCCL_DOUBLE_API(ncclResult_t, CommRegister, const ncclComm_t comm, void* buff, size_t size,
                void** handle) {
  if (comm == nullptr || buff == nullptr || handle == nullptr) return ncclInvalidArgument;
  auto entry = std::make_unique<ncclComm::Registered>();
  entry->begin = static_cast<const char*>(buff);
  entry->bytes = size;
  const std::lock_guard lock(comm->registeredMutex);
  *handle = entry.get();
  comm->registered.push_back(std::move(entry));
  return ncclSuccess;
}
NCCL_DOUBLE_API(ncclResult_t, CommDeregister, const ncclComm_t comm, void* handle) {
  if (comm == nullptr) return ncclInvalidArgument;
  const std::lock_guard lock(comm->registeredMutex);
  std::erase_if(comm->registered, [&](const auto& entry) { return entry.get() == handle; });
  return ncclSuccess;
}
NCCL_DOUBLE_API(ncclResult_t, CommWindowRegister, ncclComm_t comm, void* buff, size_t size,
                ncclWindow_t* window, int flags) {
  (void)flags;
  return ncclCommRegister(comm, buff, size, reinterpret_cast<void**>(window));
}
NCCL_DOUBLE_API(ncclResult_t, CommWindowDeregister, ncclComm_t comm, ncclWindow_t window) {
  return ncclCommDeregister(comm, window);
}

NCCL_DOUBLE_API(ncclResult_t, MemAlloc, void** ptr, size_t size) {
  if (ptr == nullptr) return ncclInvalidArgument;
  try {
    *ptr = autoccl::Regions::ofProcess().allocate(size);
  } catch (const std::exception& error) {
    warn("memory: %s", error.what());
    return ncclSystemError;
  }
  return ncclSuccess;
}
NCCL_DOUBLE_API(ncclResult_t, MemFree, void* ptr) {
  if (ptr == nullptr || autoccl::Regions::ofProcess().release(ptr)) return ncclSuccess;
  return ncclInvalidArgument;
}

NCCL_DOUBLE_API(const char*, GetErrorString, ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a CUDA call failed";
    case ncclSystemError:
      return "a system call failed";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "another rank failed";
    case ncclInProgress:
      return "in progress";
  }
  return "unknown result";
}
NCCL_DOUBLE_API(const char*, GetLastError, const ncclComm_t comm) {
  (void)comm;
  return lastWarning();
}

/// For tests alone, and only in the double: what this communicator has chosen so far.
extern "C" NCCL_DOUBLE_EXPORT ncclResult_t ncclDoubleDigest(ncclComm_t comm, uint64_t* digest,
                                                            uint64_t* calls) {
  *digest = comm->trace.digest();
  *calls = comm->trace.calls();
  return ncclSuccess;
}
