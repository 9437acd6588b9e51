// How a communicator of the double comes to be, in NCCL's order.
#include "tests/nccl_double/comm.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <set>

#include "tests/nccl_double/environment.h"
#include "tests/nccl_double/log.h"
#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {
namespace {

using namespace nccl;

Parameter nthreads("NCCL_NTHREADS", -2), ll128Nthreads("NCCL_LL128_NTHREADS", -2);
Parameter buffSize("NCCL_BUFFSIZE", 4 << 20), llBuffSize("NCCL_LL_BUFFSIZE", 512 << 10),
    ll128BuffSize("NCCL_LL128_BUFFSIZE", 4915200);
Parameter minChannels("NCCL_MIN_NCHANNELS", -2), maxChannels("NCCL_MAX_NCHANNELS", -2);
Parameter minCTAs("NCCL_MIN_CTAS", INT_MIN), maxCTAs("NCCL_MAX_CTAS", INT_MIN);
Parameter nvlsEnable("NCCL_NVLS_ENABLE", 2), nvlsChunk("NCCL_NVLS_CHUNKSIZE", 128 << 10);

Parameter shmDisable("NCCL_SHM_DISABLE", 0);

/// Read once in a process, whatever NCCL_NO_CACHE says.
bool p2pDisabled() {
  static const bool disabled = [] {
    const char* text = variable("NCCL_P2P_DISABLE");
    return text != nullptr && std::atoi(text) != 0;
  }();
  return disabled;
}

Way wayHere() {
  if (!p2pDisabled()) return Way::kP2p;
  return shmDisable.value() == 0 ? Way::kShm : Way::kNet;
}

/// NCCL_DOUBLE_FAIL_INIT=N: the N-th start of the process fails before it meets the other ranks,
/// who then wait for it, as a rank out of memory would; -N: when all else is done. A private copy
/// of the library counts its own.
int failsHere() {
  static std::atomic<int> starts{0};
  const char* text = std::getenv("NCCL_DOUBLE_FAIL_INIT");
  const int wanted = text != nullptr ? std::atoi(text) : 0;
  const int nth = ++starts;
  return nth == std::abs(wanted) ? wanted : 0;
}

/// The machine that is played: NCCL_DOUBLE_CHANNELS (16), _NVLS (0), _COLLNET (0), _LL128 (1).
int played(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : fallback;
}

/// A number of threads as NCCL checks it: multiples of a warp, inside its range.
int threadsOf(int64_t asked, int least, int most) {
  if (asked <= 0 || asked % 32 != 0) return most;
  return static_cast<int>(std::clamp<int64_t>(asked, least, most));
}

void setThreads(Limits& limits) {
  for (auto& algo : limits.maxThreads) std::fill(algo, algo + kProtos, 640);
  for (const int algo : {kAlgoRing, kAlgoTree}) {
    limits.maxThreads[algo][kProtoLL] = threadsOf(nthreads.value(), 64, 512);
    limits.maxThreads[algo][kProtoSimple] = threadsOf(nthreads.value(), 64, 512);
    limits.maxThreads[algo][kProtoLL128] = threadsOf(ll128Nthreads.value(), 160, 640);
  }
}

/// NCCL_THREAD_THRESHOLDS: tree LL, LL128, Simple, ring LL, LL128, Simple; read at every start.
void setThresholds(const Machine& machine, Limits& limits) {
  for (auto& algo : limits.thresholds) {
    algo[kProtoLL] = 8;
    algo[kProtoLL128] = 8;
    algo[kProtoSimple] = 64;
  }
  limits.thresholds[kAlgoRing][kProtoLL] *= machine.nRanks;
  for (auto& threshold : limits.thresholds[kAlgoCollnetDirect]) threshold = 512;
  const char* text = variable("NCCL_THREAD_THRESHOLDS");
  if (text == nullptr) return;
  long long values[6] = {-2, -2, -2, -2, -2, -2};
  std::sscanf(text, "%lld %lld %lld %lld %lld %lld", &values[0], &values[1], &values[2], &values[3],
              &values[4], &values[5]);
  for (int i = 0; i < 6; ++i)
    if (values[i] >= 0) limits.thresholds[i < 3 ? kAlgoTree : kAlgoRing][i % 3] = values[i];
}

void setChannels(const CommConfig& config, Machine& machine, Limits& limits) {
  const int most = release().maxChannels;
  int channels = played("NCCL_DOUBLE_CHANNELS", 16);
  if (const int64_t cap = maxChannels.value(); cap > 0)
    channels = static_cast<int>(std::min<int64_t>(channels, cap));
  channels = std::min(channels, config.maxCTAs);
  const int64_t least = std::max<int64_t>(minChannels.value(), config.minCTAs);
  channels = static_cast<int>(std::clamp<int64_t>(std::max<int64_t>(channels, least), 1, most));
  machine.nChannels = channels;
  limits.nvlsChannels = std::min(16, channels);
}

ncclResult_t setAlgorithms(ncclComm& comm) {
  const bool strict = release().version >= 22400;
  const bool known =
      readAllowed(variable("NCCL_ALGO"), variable("NCCL_PROTO"), strict, comm.allowed);
  if (known || !strict) return ncclSuccess;
  warn("NCCL_ALGO or NCCL_PROTO has a word that is not known");
  return ncclInvalidUsage;
}

ncclResult_t readVariables(ncclComm& comm) {
  comm.machine.nRanks = comm.nRanks;
  comm.machine.nvls = played("NCCL_DOUBLE_NVLS", 0) != 0 && nvlsEnable.value() != 0;
  comm.machine.collnet = comm.config.collnet && played("NCCL_DOUBLE_COLLNET", 0) != 0;
  comm.machine.ll128 = played("NCCL_DOUBLE_LL128", 1) != 0;
  comm.machine.way = wayHere();
  setThreads(comm.limits);
  setThresholds(comm.machine, comm.limits);
  setChannels(comm.config, comm.machine, comm.limits);
  comm.limits.buffBytes[kProtoLL] = llBuffSize.value();
  comm.limits.buffBytes[kProtoLL128] = ll128BuffSize.value();
  comm.limits.buffBytes[kProtoSimple] = buffSize.value();
  comm.limits.nvlsChunk = nvlsChunk.value();
  return setAlgorithms(comm);
}

PeerInfo myself(const ncclComm& comm) {
  PeerInfo info;
  info.rank = comm.rank;
  info.nRanks = comm.nRanks;
  info.version = release().version;
  info.device = comm.device;
  info.hostHash = hostHash();
  info.pid = static_cast<uint64_t>(getpid());
  int bus = 0;
  cuda().deviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, comm.device);
  info.busId = static_cast<uint64_t>(bus);
  return info;
}

/// NCCL refuses ranks of other versions, and two ranks of one host on one GPU.
ncclResult_t checkPeers(ncclComm& comm) {
  std::set<uint64_t> hosts;
  const PeerInfo& mine = comm.peers[static_cast<size_t>(comm.rank)];
  for (const PeerInfo& peer : comm.peers) {
    hosts.insert(peer.hostHash);
    if (peer.version != mine.version) {
      warn("rank %d has version %d, rank %d has %d", peer.rank, peer.version, mine.rank,
           mine.version);
      return ncclInvalidUsage;
    }
    if (peer.rank != mine.rank && peer.hostHash == mine.hostHash && peer.busId == mine.busId) {
      warn("ranks %d and %d share a GPU of one host", peer.rank, mine.rank);
      return ncclInvalidUsage;
    }
  }
  comm.machine.nNodes = static_cast<int>(hosts.size());
  return ncclSuccess;
}

ncclResult_t meet(ncclComm& comm, const Birth& birth) {
  char token[48];
  if (birth.parent != nullptr) {
    for (const int rank : birth.parentRanks) {
      PeerInfo peer = birth.parent->peers[static_cast<size_t>(rank)];
      peer.rank = static_cast<int>(comm.peers.size());
      comm.peers.push_back(peer);
    }
  } else {
    comm.commHash = hashOf(birth.id.internal, sizeof birth.id.internal);
    if (!exchange(birth.id, myself(comm), comm.peers, &comm.abortFlag)) return ncclSystemError;
  }
  std::snprintf(token, sizeof token, "nccl-double-%016" PRIx64, comm.commHash);
  comm.token = token;
  return checkPeers(comm);
}

ncclResult_t startEngine(ncclComm& comm) {
  Communicator::Options options;
  options.id = uniqueIdFrom(comm.token);
  options.rank = comm.rank;
  options.nRanks = comm.nRanks;
  options.name = comm.token;
  options.sharedAreaBytes = sharedBytes(comm.nRanks);
  try {
    comm.engine = std::make_unique<Communicator>(options);
  } catch (const std::exception& error) {
    warn("start: %s", error.what());
    return ncclSystemError;
  }
  return ncclSuccess;
}

/// The profiler first, then the tuner, on this thread. A profiler that fails is done without; a
/// tuner that fails is the user's error.
ncclResult_t startPlugins(ncclComm& comm) {
  comm.profiler = acquireProfiler();
  if (comm.profiler != nullptr) {
    const Profiler::Place place{comm.config.name.empty() ? nullptr : comm.config.name.c_str(),
                                comm.commHash, comm.machine.nNodes, comm.nRanks, comm.rank};
    if (comm.profiler->init(&comm.profilerContext, place) != Result::kSuccess)
      say(Level::kInfo, kSubInit, "the profiler's init failed; going on without");
    if (release().kernelEvents)
      comm.progress = std::make_unique<Progress>(comm.profiler, comm.profilerContext, comm.rank);
  }
  if (comm.nRanks == 1) return ncclSuccess;
  comm.tuner = acquireTuner(&comm.tunerLoadedHere);
  if (comm.tuner == nullptr) return ncclSuccess;
  const Result result =
      comm.tuner->init(&comm.tunerContext, comm.commHash, static_cast<size_t>(comm.nRanks),
                       static_cast<size_t>(comm.machine.nNodes));
  if (result != Result::kSuccess) warn("the tuner's init failed");
  return static_cast<ncclResult_t>(result);
}

/// The field if the caller's struct reaches it and the user set it.
template <class T>
void take(const ncclConfig_t& user, const T& field, T unset, const std::function<void(T)>& use) {
  const size_t end = static_cast<size_t>(reinterpret_cast<const char*>(&field + 1) -
                                         reinterpret_cast<const char*>(&user));
  if (end <= user.size && field != unset) use(field);
}

}  // namespace

size_t sharedBytes(int nRanks) {
  return static_cast<size_t>(nRanks) * (CallSlot::kDepth * sizeof(CallSlot) + sizeof(SplitSlot));
}

ncclResult_t readConfig(const ncclConfig_t* user, CommConfig& config) {
  constexpr int kUnset = NCCL_CONFIG_UNDEF_INT;
  int least = kUnset, most = kUnset;
  if (user != nullptr) {
    if (user->magic != 0xcafebeef) {
      warn("the config was not made with NCCL_CONFIG_INITIALIZER");
      return ncclInvalidArgument;
    }
    take<int>(*user, user->blocking, kUnset, [&](int v) { config.blocking = v != 0; });
    take<int>(*user, user->minCTAs, kUnset, [&](int v) { least = v; });
    take<int>(*user, user->maxCTAs, kUnset, [&](int v) { most = v; });
    take<int>(*user, user->collnetEnable, kUnset, [&](int v) { config.collnet = v != 0; });
    take<int>(*user, user->CTAPolicy, kUnset, [&](int v) { config.ctaPolicy = v; });
    take<const char*>(*user, user->commName, nullptr, [&](const char* v) { config.name = v; });
  }
  if (const int64_t v = minCTAs.value(); v != INT_MIN) least = static_cast<int>(v);
  if (const int64_t v = maxCTAs.value(); v != INT_MIN) most = static_cast<int>(v);
  // The check compares with a maximum that is still unset: min alone is an error.
  if (least != kUnset && (least <= 0 || least > most)) {
    warn("minCTAs %d and maxCTAs %d do not fit", least, most);
    return ncclInvalidArgument;
  }
  config.minCTAs = least == kUnset ? 1 : std::min(least, release().maxChannels);
  config.maxCTAs = most == kUnset ? release().maxChannels : std::min(most, release().maxChannels);
  if (const char* text = variable("NCCL_COLLNET_ENABLE")) config.collnet = std::atoi(text) != 0;
  if (const char* text = variable("NCCL_CTA_POLICY"))
    config.ctaPolicy =
        std::strcmp(text, "EFFICIENCY") == 0 ? NCCL_CTA_POLICY_EFFICIENCY : std::atoi(text);
  return ncclSuccess;
}

ncclResult_t startComm(ncclComm& comm, const Birth& birth) {
  const OnDevice here(comm.device);
  const int fails = failsHere();
  if (fails > 0) return ncclSystemError;
  ncclResult_t result = meet(comm, birth);
  if (result == ncclSuccess) result = readVariables(comm);
  if (result == ncclSuccess) result = startEngine(comm);
  if (result == ncclSuccess && fails < 0) result = ncclSystemError;
  if (result != ncclSuccess) return result;
  comm.trace.open(comm);
  cuda().eventCreate(&comm.orderEvent, CU_EVENT_DISABLE_TIMING);
  return startPlugins(comm);
}

bool gatherColors(ncclComm& parent, int color, int key, std::vector<std::pair<int, int>>& all) {
  const uint32_t round = ++parent.splits;
  SplitSlot& mine = parent.splitSlot(parent.rank);
  mine.color[round % 2] = color;
  mine.key[round % 2] = key;
  mine.round.store(round, std::memory_order_release);
  for (int r = 0; r < parent.nRanks; ++r) {
    SplitSlot& slot = parent.splitSlot(r);
    while (slot.round.load(std::memory_order_acquire) < round) {
      if (parent.abortFlag) return false;
      usleep(200);
    }
    all.emplace_back(slot.color[round % 2], slot.key[round % 2]);
  }
  return true;
}

}  // namespace autoccl::nccl_double

using namespace autoccl::nccl_double;

CallSlot& ncclComm::slot(int ofRank, uint64_t call) const {
  auto* first = reinterpret_cast<CallSlot*>(engine->sharedArea().data());
  return first[static_cast<size_t>(ofRank) * CallSlot::kDepth + call % CallSlot::kDepth];
}

SplitSlot& ncclComm::splitSlot(int ofRank) const {
  std::byte* after = engine->sharedArea().data() +
                     static_cast<size_t>(nRanks) * CallSlot::kDepth * sizeof(CallSlot);
  return reinterpret_cast<SplitSlot*>(after)[ofRank];
}

bool ncclComm::holds(const void* address, size_t bytes) {
  const std::lock_guard lock(registeredMutex);
  const auto* at = static_cast<const char*>(address);
  return std::any_of(registered.begin(), registered.end(), [&](const auto& r) {
    return at >= r->begin && at + bytes <= r->begin + r->bytes;
  });
}

ncclResult_t ncclComm::usable() {
  if (finalized) {
    warn("the communicator is finalized");
    return ncclInvalidUsage;
  }
  const auto state = static_cast<ncclResult_t>(asyncError.load());
  if (state == ncclInProgress) {
    warn("the communicator is used before its last operation has succeeded");
    return ncclInvalidArgument;
  }
  return state;
}

void ncclComm::drain() const {
  while (underWay.load(std::memory_order_acquire) > 0) usleep(100);
}

ncclComm::~ncclComm() {
  if (job.joinable()) job.join();
  drain();
  progress.reset();
  if (profiler != nullptr) {
    profiler->finalize(profilerContext);
    releaseProfiler();
  }
  if (tuner != nullptr) {
    tuner->finalize(tunerContext);
    releaseTuner(tunerLoadedHere);
  }
  if (orderEvent != nullptr) cuda().eventDestroy(orderEvent);
}
