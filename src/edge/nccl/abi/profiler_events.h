// What the profiler interfaces share: kinds of events, states, and event bodies by version.
#pragma once

#include "edge/nccl/abi/common.h"

namespace autoccl::nccl {

/// Bits of the activation mask and of an event's type. A child's bit makes NCCL start its parents.
enum EventKind : uint64_t {
  kEventGroup = 1U << 0,
  kEventColl = 1U << 1,
  kEventP2p = 1U << 2,
  kEventProxyOp = 1U << 3,
  kEventProxyStep = 1U << 4,
  kEventProxyCtrl = 1U << 5,
  kEventKernelCh = 1U << 6,   // v3+; GPU stamps since v4
  kEventNetPlugin = 1U << 7,  // v3+
  kEventGroupApi = 1U << 8,   // this and the next three: v5+
  kEventCollApi = 1U << 9,
  kEventP2pApi = 1U << 10,
  kEventKernelLaunch = 1U << 11,
  kEventCeColl = 1U << 12,  // this and the next two: v6+
  kEventCeSync = 1U << 13,
  kEventCeBatch = 1U << 14,
  kEventKernelPhase = 1U << 15  // v7
};

/// States for recordEventState; ours is the only one that we read.
enum EventState : int { kStateProxyStepSendGpuWait = 8, kStateKernelChStop = 22 };

/// kEventColl. seq counts per communicator and function. v1 gives numbers, later ones names
/// ("AllReduce", "ncclFloat32", "RING", "SIMPLE").
struct CollV1 {
  const char* commName;
  uint64_t commHash;
  uint64_t seq;
  uint8_t func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  uint8_t dtype;
  uint32_t op;
  size_t trafficBytes;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  uint8_t algo;
  uint8_t proto;
  int isCollnet;
  int isNvls;
};
static_assert(sizeof(CollV1) == 96 && offsetof(CollV1, trafficBytes) == 72);

struct CollV2 {
  const char* commName;
  uint64_t commHash;
  uint64_t seq;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* dtype;
  size_t trafficBytes;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
};
static_assert(sizeof(CollV2) == 104 && offsetof(CollV2, algo) == 88);

struct CollV3 {
  const char* commName;
  uint64_t commHash;
  uint64_t seq;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* dtype;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
};
static_assert(sizeof(CollV3) == 96 && offsetof(CollV3, algo) == 80);

/// nChannels is what really runs, and the number of kEventKernelCh that will come.
struct CollV4 {
  uint64_t seq;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* dtype;
  uint8_t nChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
};
static_assert(sizeof(CollV4) == 80 && offsetof(CollV4, nChannels) == 56);

/// v5 and v6: v4 and the group.
struct CollV5 {
  uint64_t seq;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* dtype;
  uint8_t nChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
  void* parentGroup;
};
static_assert(sizeof(CollV5) == 88 && offsetof(CollV5, parentGroup) == 80);

struct CollV7 {
  uint64_t seq;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* dtype;
  uint8_t nChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
  void* parentGroup;
  const char* kernelVariant;
  bool isSymmetric;
  uint64_t userTag;
};
static_assert(sizeof(CollV7) == 112 && offsetof(CollV7, userTag) == 104);

struct P2pV1 {
  const char* commName;
  uint64_t commHash;
  uint8_t func;
  void* buff;
  uint8_t dtype;
  size_t count;
  int peer;
};
static_assert(sizeof(P2pV1) == 56);

struct P2pV2 {  // and v3
  const char* commName;
  uint64_t commHash;
  const char* func;
  void* buff;
  const char* dtype;
  size_t count;
  int peer;
};
static_assert(sizeof(P2pV2) == 56);

struct P2pV4 {
  const char* func;
  void* buff;
  const char* dtype;
  size_t count;
  int peer;
  uint8_t nChannels;
};
static_assert(sizeof(P2pV4) == 40);

struct P2pV5 {  // and v6
  const char* func;
  void* buff;
  const char* dtype;
  size_t count;
  int peer;
  uint8_t nChannels;
  void* parentGroup;
};
static_assert(sizeof(P2pV5) == 48);

struct P2pV7 {
  const char* func;
  void* buff;
  const char* dtype;
  size_t count;
  int peer;
  uint8_t nChannels;
  void* parentGroup;
  uint64_t userTag;
};
static_assert(sizeof(P2pV7) == 56);

struct ProxyOp {
  int pid;  // of the process that asked
  uint8_t channel;
  int peer;
  int nSteps;
  int chunkBytes;
  int isSend;
};
static_assert(sizeof(ProxyOp) == 24);

struct ProxyStep {
  int step;
};

struct KernelChV3 {
  uint8_t channel;
};

/// v4+. startTimer: the GPU's globaltimer in ns, of this GPU alone.
struct KernelChV4 {
  uint8_t channel;
  uint64_t startTimer;
};
static_assert(sizeof(KernelChV4) == 16);

struct NetPluginEvent {
  int64_t id;
  void* data;
};

struct GroupApi {
  bool graphCaptured;
  int depth;
};

struct CollApiV5 {  // and v6
  const char* func;
  size_t count;
  const char* dtype;
  int root;
  void* stream;
  bool graphCaptured;
};
static_assert(sizeof(CollApiV5) == 48 && offsetof(CollApiV5, graphCaptured) == 40);

struct CollApiV7 {
  const char* func;
  size_t count;
  const char* dtype;
  int root;
  void* stream;
  bool graphCaptured;
  uint64_t userTag;
};
static_assert(sizeof(CollApiV7) == 56);

struct P2pApiV5 {  // and v6
  const char* func;
  size_t count;
  const char* dtype;
  void* stream;
  bool graphCaptured;
};
static_assert(sizeof(P2pApiV5) == 40);

struct P2pApiV7 {
  const char* func;
  size_t count;
  const char* dtype;
  void* stream;
  bool graphCaptured;
  uint64_t userTag;
};
static_assert(sizeof(P2pApiV7) == 48);

struct KernelLaunch {
  void* stream;
};

struct CeCollV6 {
  uint64_t seq;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* dtype;
  const char* syncStrategy;
  bool intraBatchSync;
  uint32_t batchSize;
  uint32_t nBatches;
  uint32_t ceSeq;
  void* stream;
};
static_assert(sizeof(CeCollV6) == 88);

struct CeCollV7 {
  uint64_t seq;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* dtype;
  const char* syncStrategy;
  bool intraBatchSync;
  uint32_t batchSize;
  uint32_t nBatches;
  uint32_t ceSeq;
  void* stream;
  uint64_t userTag;
};
static_assert(sizeof(CeCollV7) == 96);

struct CeSync {
  bool isComplete;
  int nRanks;
};

struct CeBatch {
  int nOps;
  size_t totalBytes;
  bool useIntraSync;
};
static_assert(sizeof(CeBatch) == 24);

struct KernelPhase {
  uint8_t channel;
  uint8_t phase;  // 0 initial sync, 1 compute, 2 final sync
  const char* phaseName;
  uint64_t startTimer;
};
static_assert(sizeof(KernelPhase) == 24);

}  // namespace autoccl::nccl
