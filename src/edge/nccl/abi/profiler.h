// The profiler plugin's interfaces, v1 to v7, as NCCL 2.23 to 2.32 look them up: one data symbol
// per version, "ncclProfiler_v<N>"; NCCL takes the newest it knows.
#pragma once

#include "edge/nccl/abi/profiler_events.h"

namespace autoccl::nccl {

/// Event descriptors. parent: the handle we returned for the parent event, or null. rank: in the
/// communicator of the event.
struct EventV1 {  // NCCL 2.23
  uint8_t kind;
  void* parent;
  int rank;
  union {
    CollV1 coll;
    P2pV1 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
  };
};
static_assert(sizeof(EventV1) == 120 && offsetof(EventV1, coll) == 24);

struct EventV2 {  // NCCL 2.24 and 2.25
  uint8_t kind;
  void* parent;
  int rank;
  union {
    CollV2 coll;
    P2pV2 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
  };
};
static_assert(sizeof(EventV2) == 128 && offsetof(EventV2, coll) == 24);

struct EventV3 {  // NCCL 2.26
  uint8_t kind;
  void* parent;
  int rank;
  union {
    CollV3 coll;
    P2pV2 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV3 kernelCh;
    NetPluginEvent netPlugin;
  };
};
static_assert(sizeof(EventV3) == 120 && offsetof(EventV3, coll) == 24);

struct EventV4 {  // NCCL 2.27
  uint8_t kind;
  void* parent;
  int rank;
  union {
    CollV4 coll;
    P2pV4 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV4 kernelCh;
    NetPluginEvent netPlugin;
  };
};
static_assert(sizeof(EventV4) == 104 && offsetof(EventV4, coll) == 24);

struct EventV5 {  // NCCL 2.28
  uint64_t kind;
  void* parent;
  int rank;
  union {
    GroupApi groupApi;
    CollApiV5 collApi;
    P2pApiV5 p2pApi;
    KernelLaunch kernelLaunch;
    CollV5 coll;
    P2pV5 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV4 kernelCh;
    NetPluginEvent netPlugin;
  };
};
static_assert(sizeof(EventV5) == 112 && offsetof(EventV5, coll) == 24);

struct EventV6 {  // NCCL 2.29 and 2.30
  uint64_t kind;
  void* parent;
  int rank;
  union {
    GroupApi groupApi;
    CollApiV5 collApi;
    P2pApiV5 p2pApi;
    KernelLaunch kernelLaunch;
    CollV5 coll;
    P2pV5 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV4 kernelCh;
    NetPluginEvent netPlugin;
    CeCollV6 ceColl;
    CeSync ceSync;
    CeBatch ceBatch;
  };
};
static_assert(sizeof(EventV6) == 112 && offsetof(EventV6, coll) == 24);

struct EventV7 {  // NCCL 2.31 and 2.32
  uint64_t kind;
  void* parent;
  int rank;
  union {
    GroupApi groupApi;
    CollApiV7 collApi;
    P2pApiV7 p2pApi;
    KernelLaunch kernelLaunch;
    CollV7 coll;
    P2pV7 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV4 kernelCh;
    NetPluginEvent netPlugin;
    CeCollV7 ceColl;
    CeSync ceSync;
    CeBatch ceBatch;
    KernelPhase kernelPhase;
  };
};
static_assert(sizeof(EventV7) == 136 && offsetof(EventV7, coll) == 24);

/// Arguments of a state, v1 to v3. May be null.
union StateArgsV1 {
  struct {
    size_t transSize;
    int steps;
  } proxyOp;
  struct {
    int appendedOps;
  } proxyCtrl;
};
static_assert(sizeof(StateArgsV1) == 16);

/// The same, v4 to v7. kernelCh: the stop stamp of kStateKernelChStop (globaltimer, ns).
union StateArgsV4 {
  struct {
    size_t transSize;
  } proxyStep;
  struct {
    int appendedOps;
  } proxyCtrl;
  struct {
    void* data;
  } netPlugin;
  struct {
    uint64_t stopTimer;
  } kernelCh;
};
static_assert(sizeof(StateArgsV4) == 8);

/// v1 to v3. mask points to a word that NCCL reads again for every operation: it may change later.
template <class Event>
struct ProfilerOld {
  const char* name;
  Result (*init)(void** context, int* mask);
  Result (*startEvent)(void* context, void** handle, Event* event);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, EventState state, StateArgsV1* args);
  Result (*finalize)(void* context);
};
using ProfilerV1 = ProfilerOld<EventV1>;
using ProfilerV2 = ProfilerOld<EventV2>;
using ProfilerV3 = ProfilerOld<EventV3>;

/// v4: the communicator and this rank at init.
struct ProfilerV4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* commName, uint64_t commHash, int nNodes,
                 int nRanks, int rank, Logger logger);
  Result (*startEvent)(void* context, void** handle, EventV4* event);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, EventState state, StateArgsV4* args);
  Result (*finalize)(void* context);
};

/// v5 to v7.
template <class Event>
struct ProfilerNew {
  const char* name;
  Result (*init)(void** context, uint64_t commId, int* mask, const char* commName, int nNodes,
                 int nRanks, int rank, Logger logger);
  Result (*startEvent)(void* context, void** handle, Event* event);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, EventState state, StateArgsV4* args);
  Result (*finalize)(void* context);
};
using ProfilerV5 = ProfilerNew<EventV5>;
using ProfilerV6 = ProfilerNew<EventV6>;
using ProfilerV7 = ProfilerNew<EventV7>;

static_assert(sizeof(ProfilerV1) == 48 && sizeof(ProfilerV4) == 48 && sizeof(ProfilerV7) == 48);

}  // namespace autoccl::nccl
