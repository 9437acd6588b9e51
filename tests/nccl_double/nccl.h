/* NCCL's public C interface as far as the double and the test programs use it: our own declaration
 * of a binary interface (2.18 to 2.32), so that nothing here needs NCCL or the CUDA toolkit. */
#ifndef AUTOCCL_TESTS_NCCL_DOUBLE_NCCL_H_
#define AUTOCCL_TESTS_NCCL_DOUBLE_NCCL_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st* cudaStream_t;
typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;

#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
} ncclResult_t;

typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 } ncclRedOp_t;

typedef enum {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11
} ncclDataType_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_SPLIT_NOCOLOR (-1)
#define NCCL_CTA_POLICY_DEFAULT 0
#define NCCL_CTA_POLICY_EFFICIENCY 1
#define NCCL_SHRINK_DEFAULT 0
#define NCCL_SHRINK_ABORT 1

/* Fields by the version that brought them; `size` says how many a caller has. */
typedef struct {
  size_t size;
  unsigned magic;   /* 0xcafebeef */
  unsigned version; /* of the header, e.g. 22809 */
  int blocking;     /* 2.18 */
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;     /* 2.26 */
  const char* commName; /* 2.27 */
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer; /* 2.28 */
  int nvlinkCentricSched;
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                                 \
  {                                                                                             \
    sizeof(ncclConfig_t), 0xcafebeef, 22809, INT_MIN, INT_MIN, INT_MIN, INT_MIN, NULL, INT_MIN, \
        INT_MIN, NULL, INT_MIN, INT_MIN, INT_MIN, INT_MIN, INT_MIN, INT_MIN                     \
  }

typedef struct {
  size_t size;
  unsigned magic; /* 0x74685283 */
  unsigned version;
  float estimatedTime;
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER \
  { sizeof(ncclSimInfo_t), 0x74685283, 22809, -1.0f }

/* X(result, name without "nccl", arguments): every function exists as ncclX and pncclX. */
#define NCCL_DOUBLE_CALLS(X)                                                                      \
  X(ncclResult_t, GetVersion, (int* version))                                                     \
  X(ncclResult_t, GetUniqueId, (ncclUniqueId * id))                                               \
  X(ncclResult_t, CommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank))       \
  X(ncclResult_t, CommInitRankConfig,                                                             \
    (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t* config))             \
  X(ncclResult_t, CommInitAll, (ncclComm_t * comms, int ndev, const int* devlist))                \
  X(ncclResult_t, CommInitRankScalable,                                                           \
    (ncclComm_t * comm, int nranks, int rank, int nId, ncclUniqueId* ids, ncclConfig_t* config))  \
  X(ncclResult_t, CommSplit,                                                                      \
    (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config))             \
  X(ncclResult_t, CommShrink,                                                                     \
    (ncclComm_t comm, int* excludeRanks, int nExclude, ncclComm_t* newcomm, ncclConfig_t* config, \
     int flags))                                                                                  \
  X(ncclResult_t, CommFinalize, (ncclComm_t comm))                                                \
  X(ncclResult_t, CommDestroy, (ncclComm_t comm))                                                 \
  X(ncclResult_t, CommAbort, (ncclComm_t comm))                                                   \
  X(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t * error))                     \
  X(ncclResult_t, CommCount, (const ncclComm_t comm, int* count))                                 \
  X(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int* device))                             \
  X(ncclResult_t, CommUserRank, (const ncclComm_t comm, int* rank))                               \
  X(ncclResult_t, CommRegister, (const ncclComm_t comm, void* buff, size_t size, void** handle))  \
  X(ncclResult_t, CommDeregister, (const ncclComm_t comm, void* handle))                          \
  X(ncclResult_t, CommWindowRegister,                                                             \
    (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* window, int flags))                  \
  X(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t window))                   \
  X(ncclResult_t, MemAlloc, (void** ptr, size_t size))                                            \
  X(ncclResult_t, MemFree, (void* ptr))                                                           \
  X(const char*, GetErrorString, (ncclResult_t result))                                           \
  X(const char*, GetLastError, (const ncclComm_t comm))                                           \
  X(ncclResult_t, RedOpCreatePreMulSum,                                                           \
    (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,    \
     ncclComm_t comm))                                                                            \
  X(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))                                \
  X(ncclResult_t, Reduce,                                                                         \
    (const void* send, void* recv, size_t count, ncclDataType_t datatype, ncclRedOp_t op,         \
     int root, ncclComm_t comm, cudaStream_t stream))                                             \
  X(ncclResult_t, Bcast,                                                                          \
    (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,                \
     cudaStream_t stream))                                                                        \
  X(ncclResult_t, Broadcast,                                                                      \
    (const void* send, void* recv, size_t count, ncclDataType_t datatype, int root,               \
     ncclComm_t comm, cudaStream_t stream))                                                       \
  X(ncclResult_t, AllReduce,                                                                      \
    (const void* send, void* recv, size_t count, ncclDataType_t datatype, ncclRedOp_t op,         \
     ncclComm_t comm, cudaStream_t stream))                                                       \
  X(ncclResult_t, ReduceScatter,                                                                  \
    (const void* send, void* recv, size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op,     \
     ncclComm_t comm, cudaStream_t stream))                                                       \
  X(ncclResult_t, AllGather,                                                                      \
    (const void* send, void* recv, size_t sendcount, ncclDataType_t datatype, ncclComm_t comm,    \
     cudaStream_t stream))                                                                        \
  X(ncclResult_t, AlltoAll,                                                                       \
    (const void* send, void* recv, size_t count, ncclDataType_t datatype, ncclComm_t comm,        \
     cudaStream_t stream))                                                                        \
  X(ncclResult_t, Gather,                                                                         \
    (const void* send, void* recv, size_t count, ncclDataType_t datatype, int root,               \
     ncclComm_t comm, cudaStream_t stream))                                                       \
  X(ncclResult_t, Scatter,                                                                        \
    (const void* send, void* recv, size_t count, ncclDataType_t datatype, int root,               \
     ncclComm_t comm, cudaStream_t stream))                                                       \
  X(ncclResult_t, Send,                                                                           \
    (const void* send, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,          \
     cudaStream_t stream))                                                                        \
  X(ncclResult_t, Recv,                                                                           \
    (void* recv, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,                \
     cudaStream_t stream))                                                                        \
  X(ncclResult_t, GroupStart, (void))                                                             \
  X(ncclResult_t, GroupEnd, (void))                                                               \
  X(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * info))

#define NCCL_DOUBLE_DECLARE(result, name, arguments) \
  result nccl##name arguments;                       \
  result pnccl##name arguments;
NCCL_DOUBLE_CALLS(NCCL_DOUBLE_DECLARE)
#undef NCCL_DOUBLE_DECLARE

#ifdef __cplusplus
}
#endif
#endif
