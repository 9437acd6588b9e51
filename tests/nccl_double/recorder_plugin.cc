#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "edge/nccl/abi/env.h"
#include "edge/nccl/abi/profiler.h"
#include "edge/nccl/abi/tuner.h"
#include "tests/nccl_double/recorder.h"

#define RECORDER_EXPORT extern "C" __attribute__((visibility("default")))
#define RECORDER_DATA __attribute__((visibility("default")))

namespace {

using namespace autoccl::nccl;
using autoccl::testing::Init;
using autoccl::testing::Question;
using autoccl::testing::Recorder;

Recorder& recorder() {
  static auto* made = new Recorder;  // NCCL's threads may outlive main
  return *made;
}

uint64_t threadId() {
  return static_cast<uint64_t>(syscall(SYS_gettid));
}

int deviceNow() {
  using GetDevice = int (*)(int*);
  static const auto get = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr ? reinterpret_cast<GetDevice>(dlsym(library, "cuCtxGetDevice"))
                              : nullptr;
  }();
  int device = -1;
  return get != nullptr && get(&device) == 0 ? device : -1;
}

template <class Slot, size_t N>
Slot* next(std::atomic<int>& count, Slot (&slots)[N]) {
  const int at = count.fetch_add(1);
  return at < static_cast<int>(N) ? &slots[at] : nullptr;
}

Result error(const std::atomic<int>& code) {
  return static_cast<Result>(code.load());
}

// ---- tuner ----

Init* noteInit(std::atomic<int>& count, Init (&slots)[64], int interface) {
  Init* init = next(count, slots);
  if (init == nullptr) return nullptr;
  init->interface = interface;
  init->thread = threadId();
  init->order = recorder().inits.fetch_add(1);
  init->device = deviceNow();
  return init;
}

Result tunerInit(int interface, void** context, size_t nRanks, size_t nNodes, Logger logger,
                 uint64_t commId, const NvlDomains* domains, const ModelConstants* constants) {
  Recorder& r = recorder();
  if (Init* init = noteInit(r.nTunerInits, r.tunerInits, interface)) {
    init->commId = commId;
    init->nRanks = nRanks;
    init->nNodes = nNodes;
    init->logger = logger != nullptr;
    init->domains = domains != nullptr;
    init->constants = constants != nullptr;
    if (context != nullptr) *context = init;
  }
  return error(r.tunerInitError);
}

Question* noteQuestion(int interface, void* context, Func func, size_t nBytes, int pipeOps) {
  Recorder& r = recorder();
  Question* q = next(r.nQuestions, r.questions);
  if (q == nullptr) return nullptr;
  q->interface = interface;
  q->context = context;
  q->func = func;
  q->nBytes = nBytes;
  q->pipeOps = pipeOps;
  q->thread = threadId();
  q->device = deviceNow();
  return q;
}

/// Carries out the orders on a table.
void rewrite(float* table, int nAlgos, int nProtos) {
  const Recorder& r = recorder();
  const auto at = [&](int a, int p) -> float& { return table[a * nProtos + p]; };
  const int algo = r.algo, proto = r.proto;
  for (int a = 0; a < nAlgos; ++a)
    for (int p = 0; p < nProtos; ++p) {
      const bool kept = a == algo && p == proto;
      if (r.eraseAll || (r.eraseRest && !kept && at(a, p) >= 0)) at(a, p) = -1;
    }
  for (const auto& [a, p] : {std::pair(algo, proto), std::pair(r.algo2.load(), r.proto2.load())}) {
    if (a < 0 || a >= nAlgos || p < 0 || p >= nProtos) continue;
    if (at(a, p) >= 0 || r.reckless) at(a, p) = r.value;
  }
}

Result answerTable(int interface, void* context, Func func, size_t nBytes, int pipeOps,
                   float** costs, int nAlgos, int nProtos, int registered, int* nChannels) {
  auto* table = reinterpret_cast<float*>(costs);
  if (Question* q = noteQuestion(interface, context, func, nBytes, pipeOps)) {
    q->nAlgos = nAlgos;
    q->nProtos = nProtos;
    q->registered = registered;
    q->channelsIn = *nChannels;
    for (int a = 0; a < std::min(nAlgos, 8); ++a)
      for (int p = 0; p < std::min(nProtos, 3); ++p) q->table[a][p] = table[a * nProtos + p];
  }
  if (pipeOps == 0) return Result::kSuccess;  // 2.31's question about symmetric kernels
  rewrite(table, nAlgos, nProtos);
  if (recorder().channels != 0) *nChannels = recorder().channels;
  return error(recorder().answerError);
}

Result answerPair(int interface, void* context, Func func, size_t nBytes, int pipeOps, int* algo,
                  int* proto, int* nChannels) {
  if (Question* q = noteQuestion(interface, context, func, nBytes, pipeOps))
    q->channelsIn = *nChannels;
  if (recorder().algo >= 0) {
    *algo = recorder().algo;
    *proto = recorder().proto;
  }
  if (recorder().channels != 0) *nChannels = recorder().channels;
  return error(recorder().answerError);
}

Result initV1(size_t nRanks, size_t nNodes, Logger logger) {
  return tunerInit(1, nullptr, nRanks, nNodes, logger, 0, nullptr, nullptr);
}
Result infoV1(Func func, size_t nBytes, int, int, int pipeOps, int* algo, int* proto,
              int* nChannels) {
  return answerPair(1, nullptr, func, nBytes, pipeOps, algo, proto, nChannels);
}
Result destroyV1() {
  ++recorder().nFinalized;
  return Result::kSuccess;
}
Result finalize(void*) {
  ++recorder().nFinalized;
  return Result::kSuccess;
}

template <int V>
Result initOld(size_t nRanks, size_t nNodes, Logger logger, void** context) {
  return tunerInit(V, context, nRanks, nNodes, logger, 0, nullptr, nullptr);
}
template <int V>
Result initNew(void** context, uint64_t commId, size_t nRanks, size_t nNodes, Logger logger,
               NvlDomains* domains, ModelConstants* constants) {
  return tunerInit(V, context, nRanks, nNodes, logger, commId, domains, constants);
}
Result infoV2(void* context, Func func, size_t nBytes, int, int, int pipeOps, int* algo, int* proto,
              int* nChannels) {
  return answerPair(2, context, func, nBytes, pipeOps, algo, proto, nChannels);
}
Result infoV3(void* context, Func func, size_t nBytes, int pipeOps, float** costs, int nAlgos,
              int nProtos, int* nChannels) {
  return answerTable(3, context, func, nBytes, pipeOps, costs, nAlgos, nProtos, 0, nChannels);
}
template <int V>
Result infoNew(void* context, Func func, size_t nBytes, int pipeOps, float** costs, int nAlgos,
               int nProtos, int registered, int* nChannels) {
  return answerTable(V, context, func, nBytes, pipeOps, costs, nAlgos, nProtos, registered,
                     nChannels);
}
Result chunkV6(void*, Func func, size_t nBytes, int algo, int proto, int nChannels, size_t* chunk) {
  Recorder& r = recorder();
  if (auto* q = next(r.nChunks, r.chunks))
    *q = {func, algo, proto, nChannels, nBytes, *chunk, threadId()};
  if (r.chunk != 0) *chunk = r.chunk;
  return Result::kSuccess;
}

// ---- profiler ----

Result profilerInit(int interface, void** context, int* mask, uint64_t commId, int nNodes,
                    int nRanks, int rank, bool logger) {
  Recorder& r = recorder();
  if (Init* init = noteInit(r.nProfilerInits, r.profilerInits, interface)) {
    init->commId = commId;
    init->nNodes = static_cast<uint64_t>(nNodes);
    init->nRanks = static_cast<uint64_t>(nRanks);
    init->rank = rank;
    init->logger = logger;
    *context = init;
  }
  r.mask = mask;
  __atomic_store_n(mask, r.wanted.load(), __ATOMIC_RELAXED);
  return error(r.profilerInitError);
}

void copyName(char (&to)[24], const char* from) {
  if (from != nullptr) std::strncpy(to, from, sizeof to - 1);
}

template <class Body>
void noteColl(autoccl::testing::Event& e, const Body& c) {
  e.seq = c.seq;
  e.count = c.count;
  e.warps = c.nWarps;
  if constexpr (requires { c.nChannels; })
    e.channels = c.nChannels;
  else
    e.channels = c.nMaxChannels;
  if constexpr (requires { std::strlen(c.func); }) {
    copyName(e.func, c.func);
    copyName(e.algo, c.algo);
    copyName(e.proto, c.proto);
    copyName(e.dtype, c.dtype);
  }
}

template <int V, class Event>
Result startEvent(void*, void** handle, Event* given) {
  Recorder& r = recorder();
  auto* e = next(r.nEvents, r.events);
  if (e == nullptr) return Result::kSuccess;
  e->kind = given->kind;
  e->interface = V;
  e->thread = threadId();
  e->parent = given->parent;
  e->rank = given->rank;
  if (given->kind == kEventColl) noteColl(*e, given->coll);
  if constexpr (requires { given->kernelCh.startTimer; })
    if (given->kind == kEventKernelCh) {
      e->channel = given->kernelCh.channel;
      e->startStamp = given->kernelCh.startTimer;
    }
  if constexpr (requires { given->collApi; })
    if (given->kind == kEventCollApi) {
      e->captured = given->collApi.graphCaptured;
      copyName(e->func, given->collApi.func);
    }
  *handle = r.nullHandles ? nullptr : e;
  return Result::kSuccess;
}
Result stopEvent(void* handle) {
  if (auto* e = static_cast<autoccl::testing::Event*>(handle)) {
    e->stopThread = threadId();
    e->stopped = true;
  }
  return Result::kSuccess;
}
Result recordOld(void*, EventState, StateArgsV1*) {
  return Result::kSuccess;
}
Result recordNew(void* handle, EventState state, StateArgsV4* args) {
  auto* e = static_cast<autoccl::testing::Event*>(handle);
  if (e != nullptr && state == kStateKernelChStop && args != nullptr)
    e->stopStamp = args->kernelCh.stopTimer;
  return Result::kSuccess;
}
template <int V>
Result profilerInitOld(void** context, int* mask) {
  return profilerInit(V, context, mask, 0, 0, 0, -1, false);
}
Result profilerInitV4(void** context, int* mask, const char*, uint64_t commHash, int nNodes,
                      int nRanks, int rank, Logger logger) {
  return profilerInit(4, context, mask, commHash, nNodes, nRanks, rank, logger != nullptr);
}
template <int V>
Result profilerInitNew(void** context, uint64_t commId, int* mask, const char*, int nNodes,
                       int nRanks, int rank, Logger logger) {
  return profilerInit(V, context, mask, commId, nNodes, nRanks, rank, logger != nullptr);
}
Result profilerFinalize(void*) {
  return Result::kSuccess;
}

// ---- environment ----

Result envInit(int interface) {
  ++recorder().nEnvInits;
  recorder().envInterface = interface;
  return Result::kSuccess;
}
Result envInitV1(uint8_t, uint8_t, uint8_t, const char*) {
  return envInit(1);
}
Result envInitV2(uint8_t, uint8_t, uint8_t, const char*, Logger) {
  return envInit(2);
}
Result envFinalize() {
  return Result::kSuccess;
}
const char* envGet(const char* name) {
  ++recorder().nEnvAsked;
  return std::getenv(name);
}

}  // namespace

RECORDER_EXPORT Recorder* nccl_test_recorder(void) {
  return &recorder();
}

extern "C" {

RECORDER_DATA TunerV1 ncclTunerPlugin_v1{"recorder", initV1, infoV1, destroyV1};
RECORDER_DATA TunerV2 ncclTunerPlugin_v2{"recorder", initOld<2>, infoV2, finalize};
RECORDER_DATA TunerV3 ncclTunerPlugin_v3{"recorder", initOld<3>, infoV3, finalize};
RECORDER_DATA TunerV4 ncclTunerPlugin_v4{"recorder", initOld<4>, infoNew<4>, finalize};
RECORDER_DATA TunerV5 ncclTunerPlugin_v5{"recorder", initNew<5>, infoNew<5>, finalize};
RECORDER_DATA TunerV6 ncclTunerPlugin_v6{"recorder", initNew<6>, infoNew<6>, finalize, chunkV6};

#define RECORDER_PROFILER(V, init, record)                                          \
  RECORDER_DATA ProfilerV##V ncclProfiler_v##V {                                    \
    "recorder", init, startEvent<V, EventV##V>, stopEvent, record, profilerFinalize \
  }
RECORDER_PROFILER(1, profilerInitOld<1>, recordOld);
RECORDER_PROFILER(2, profilerInitOld<2>, recordOld);
RECORDER_PROFILER(3, profilerInitOld<3>, recordOld);
RECORDER_PROFILER(4, profilerInitV4, recordNew);
RECORDER_PROFILER(5, profilerInitNew<5>, recordNew);
RECORDER_PROFILER(6, profilerInitNew<6>, recordNew);
RECORDER_PROFILER(7, profilerInitNew<7>, recordNew);

RECORDER_DATA EnvV1 ncclEnvPlugin_v1{"recorder", envInitV1, envFinalize, envGet};
RECORDER_DATA EnvV2 ncclEnvPlugin_v2{"recorder", envInitV2, envFinalize, envGet};

}  // extern "C"
