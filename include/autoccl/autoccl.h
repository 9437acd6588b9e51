/* AutoCCL's C interface: collectives for host memory that tune themselves while the program runs.
 *
 * Shape. The names, argument orders and meanings are NCCL's with the prefix `accl`, so a program
 * that knows NCCL knows this. Memory is host memory; a stream is an ordered queue of work of this
 * process with a thread of its own. The stream NULL is the caller itself: the call returns when the
 * result is there. Counts are elements, sizes bytes.
 *
 * Threads. Every function may be called from any thread. Calls on one communicator must be issued
 * in the same order on all its ranks, as with NCCL.
 *
 * Errors. A function returns acclSuccess or says why not; acclGetLastError(comm) has the sentence.
 * Nothing aborts, exits or throws through this interface.
 *
 * Tuning is off unless AUTOCCL_TUNE is set (`autoccl run` sets it); `autoccl settings` lists every
 * variable. */
#ifndef AUTOCCL_AUTOCCL_H_
#define AUTOCCL_AUTOCCL_H_

/* NOLINTBEGIN(modernize-deprecated-headers): for C, which has no <cstddef> */
#include <stddef.h>
#include <stdint.h>
/* NOLINTEND(modernize-deprecated-headers) */

#ifdef __cplusplus
extern "C" {
#endif

#define ACCL_API __attribute__((visibility("default")))

#define ACCL_MAJOR 0
#define ACCL_MINOR 1
#define ACCL_PATCH 0
#define ACCL_VERSION_CODE (ACCL_MAJOR * 10000 + ACCL_MINOR * 100 + ACCL_PATCH)

#define ACCL_UNIQUE_ID_BYTES 128
#define ACCL_SPLIT_NOCOLOR (-1)

typedef struct acclComm* acclComm_t;
typedef struct acclStream* acclStream_t;
typedef struct acclEvent* acclEvent_t;

/* Names the rendezvous of one communicator: made by one rank, sent to the others by the program. */
typedef struct {
  char internal[ACCL_UNIQUE_ID_BYTES];
} acclUniqueId;

typedef enum {
  acclSuccess = 0,
  acclSystemError = 1,     /* a system call failed */
  acclInternalError = 2,   /* a fault of ours */
  acclInvalidArgument = 3, /* an argument is out of its range */
  acclInvalidUsage = 4,    /* a call that is not allowed in this state */
  acclRemoteError = 5,     /* another rank died or failed */
  acclInProgress = 6,      /* a non-blocking communicator is still at work */
  acclTimeout = 7          /* a rank did not come in time; the message names it */
} acclResult_t;

/* NCCL's numbers for NCCL's types; ours follow from 100. */
typedef enum {
  acclInt8 = 0,
  acclUint8 = 1,
  acclInt32 = 2,
  acclUint32 = 3,
  acclInt64 = 4,
  acclUint64 = 5,
  acclFloat16 = 6,
  acclFloat32 = 7,
  acclFloat64 = 8,
  acclBfloat16 = 9,
  acclFloat8e4m3 = 10,
  acclFloat8e5m2 = 11,
  acclInt16 = 100,
  acclUint16 = 101
} acclDataType_t;

/* Values from 16 up are scaled sums made by acclRedOpCreatePreMulSum. */
typedef enum {
  acclSum = 0,
  acclProd = 1,
  acclMax = 2,
  acclMin = 3,
  acclAvg = 4,
  acclRedOpMax = 0x7fffffff
} acclRedOp_t;
typedef enum { acclScalarDevice = 0, acclScalarHostImmediate = 1 } acclScalarResidence_t;

/* Fill with ACCL_CONFIG_INITIALIZER, then change what you need. */
typedef struct {
  size_t size;      /* of this struct, for versions to come */
  int blocking;     /* 1: init waits for all ranks; 0: it returns acclInProgress at once */
  const char* name; /* for logs and reports; NULL: comm<N> */
  int splitShare;   /* reserved for NCCL's meaning; no effect on host memory */
} acclConfig_t;
#define ACCL_CONFIG_INITIALIZER \
  { sizeof(acclConfig_t), 1, NULL, 0 }

/* ---- communicators ---- */
ACCL_API acclResult_t acclGetVersion(int* version);
ACCL_API const char* acclGetErrorString(acclResult_t result);
/* The last error's sentence: what, where, what is allowed, what to do. comm may be NULL. */
ACCL_API const char* acclGetLastError(acclComm_t comm);
ACCL_API acclResult_t acclGetUniqueId(acclUniqueId* id);
ACCL_API acclResult_t acclCommInitRank(acclComm_t* comm, int nRanks, acclUniqueId id, int rank);
ACCL_API acclResult_t acclCommInitRankConfig(acclComm_t* comm, int nRanks, acclUniqueId id,
                                             int rank, const acclConfig_t* config);
/* All ranks as threads of this process: comms[0..nRanks-1]. Issue their calls from nRanks threads,
 * or from one thread between acclGroupStart and acclGroupEnd. */
ACCL_API acclResult_t acclCommInitAll(acclComm_t* comms, int nRanks);
/* Rank and size from what autoccl run, torchrun, Open MPI, MPICH or Slurm put into the environment.
 */
ACCL_API acclResult_t acclCommInitFromEnv(acclComm_t* comm);
/* Collective. Ranks with one color form a communicator, ordered by key; ACCL_SPLIT_NOCOLOR: none.
 */
ACCL_API acclResult_t acclCommSplit(acclComm_t comm, int color, int key, acclComm_t* newComm,
                                    const acclConfig_t* config);
ACCL_API acclResult_t acclCommFinalize(acclComm_t comm);
ACCL_API acclResult_t acclCommDestroy(acclComm_t comm);
/* Ends every call under way on every rank with an error, within milliseconds. */
ACCL_API acclResult_t acclCommAbort(acclComm_t comm);
ACCL_API acclResult_t acclCommGetAsyncError(acclComm_t comm, acclResult_t* asyncError);
ACCL_API acclResult_t acclCommCount(acclComm_t comm, int* count);
ACCL_API acclResult_t acclCommUserRank(acclComm_t comm, int* rank);

/* ---- memory ---- */
/* Memory that every rank of this host can reach: the zero-copy path. Page aligned. */
ACCL_API acclResult_t acclMemAlloc(void** ptr, size_t bytes);
ACCL_API acclResult_t acclMemFree(void* ptr);
/* Opt-in: moves the whole private pages inside [ptr, ptr+bytes) onto shared memory in place. */
ACCL_API acclResult_t acclCommRegister(acclComm_t comm, void* ptr, size_t bytes, void** handle);
ACCL_API acclResult_t acclCommDeregister(acclComm_t comm, void* handle);

/* ---- streams and events ---- */
ACCL_API acclResult_t acclStreamCreate(acclStream_t* stream);
ACCL_API acclResult_t acclStreamDestroy(acclStream_t stream);
ACCL_API acclResult_t acclStreamSynchronize(acclStream_t stream);
ACCL_API acclResult_t acclStreamQuery(acclStream_t stream); /* acclInProgress while work is left */
ACCL_API acclResult_t acclStreamWaitEvent(acclStream_t stream, acclEvent_t event);
ACCL_API acclResult_t acclLaunchHostFunc(acclStream_t stream, void (*fn)(void*), void* arg);
ACCL_API acclResult_t acclEventCreate(acclEvent_t* event);
ACCL_API acclResult_t acclEventDestroy(acclEvent_t event);
ACCL_API acclResult_t acclEventRecord(acclEvent_t event, acclStream_t stream);
ACCL_API acclResult_t acclEventSynchronize(acclEvent_t event);
ACCL_API acclResult_t acclEventElapsedTime(float* ms, acclEvent_t start, acclEvent_t end);

/* ---- reductions of one's own scale ---- */
ACCL_API acclResult_t acclRedOpCreatePreMulSum(acclRedOp_t* op, void* scalar,
                                               acclDataType_t datatype,
                                               acclScalarResidence_t residence, acclComm_t comm);
ACCL_API acclResult_t acclRedOpDestroy(acclRedOp_t op, acclComm_t comm);

/* ---- collectives; in place where sendbuff is the matching part of recvbuff ---- */
ACCL_API acclResult_t acclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                                    acclDataType_t datatype, acclRedOp_t op, acclComm_t comm,
                                    acclStream_t stream);
ACCL_API acclResult_t acclReduce(const void* sendbuff, void* recvbuff, size_t count,
                                 acclDataType_t datatype, acclRedOp_t op, int root, acclComm_t comm,
                                 acclStream_t stream);
ACCL_API acclResult_t acclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                                    acclDataType_t datatype, int root, acclComm_t comm,
                                    acclStream_t stream);
ACCL_API acclResult_t acclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                                    acclDataType_t datatype, acclComm_t comm, acclStream_t stream);
ACCL_API acclResult_t acclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                        acclDataType_t datatype, acclRedOp_t op, acclComm_t comm,
                                        acclStream_t stream);
/* count elements to and from each rank. Not in place. */
ACCL_API acclResult_t acclAllToAll(const void* sendbuff, void* recvbuff, size_t count,
                                   acclDataType_t datatype, acclComm_t comm, acclStream_t stream);
ACCL_API acclResult_t acclGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                                 acclDataType_t datatype, int root, acclComm_t comm,
                                 acclStream_t stream);
ACCL_API acclResult_t acclScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                  acclDataType_t datatype, int root, acclComm_t comm,
                                  acclStream_t stream);
/* The uneven forms. displs count elements.
 * AllGatherv: recvcounts and displs are the same on all ranks. ReduceScatterv: so is recvcounts;
 * the blocks lie one behind the other in sendbuff. A call whose ranks differ there fails on all of
 * them. AllToAllv: each rank passes its own rows; what i sends to j is what j receives from i. */
ACCL_API acclResult_t acclAllGatherv(const void* sendbuff, void* recvbuff, const size_t* recvcounts,
                                     const size_t* displs, acclDataType_t datatype, acclComm_t comm,
                                     acclStream_t stream);
ACCL_API acclResult_t acclReduceScatterv(const void* sendbuff, void* recvbuff,
                                         const size_t* recvcounts, acclDataType_t datatype,
                                         acclRedOp_t op, acclComm_t comm, acclStream_t stream);
ACCL_API acclResult_t acclAllToAllv(const void* sendbuff, const size_t* sendcounts,
                                    const size_t* sdispls, void* recvbuff, const size_t* recvcounts,
                                    const size_t* rdispls, acclDataType_t datatype, acclComm_t comm,
                                    acclStream_t stream);
ACCL_API acclResult_t acclSend(const void* sendbuff, size_t count, acclDataType_t datatype,
                               int peer, acclComm_t comm, acclStream_t stream);
ACCL_API acclResult_t acclRecv(void* recvbuff, size_t count, acclDataType_t datatype, int peer,
                               acclComm_t comm, acclStream_t stream);
ACCL_API acclResult_t acclBarrier(acclComm_t comm, acclStream_t stream);
ACCL_API acclResult_t acclGroupStart(void);
ACCL_API acclResult_t acclGroupEnd(void);

/* ---- the tuner, seen from the program (all optional) ---- */
/* Every later call of this communicator uses this config, on all ranks or on none: collective in
 * meaning. spec as printed by explain, e.g. "twoshot/zero/shm nc=1 nt=1 c=64K wait=futex";
 * NULL gives the choice back. An impossible config is acclInvalidArgument. */
ACCL_API acclResult_t acclCommPinConfig(acclComm_t comm, const char* spec);
/* Writes the config in effect of this rank's last finished call into spec[size]. */
ACCL_API acclResult_t acclCommLastConfig(acclComm_t comm, char* spec, size_t size);
/* All configs the engine offers for a task, one a line, into text[size]; *needed is the full
 * length. */
ACCL_API acclResult_t acclCommSpace(acclComm_t comm, const char* collective, size_t bytes,
                                    char* text, size_t size, size_t* needed);
/* 1 if no task that this rank has called on the communicator is still being searched, or if tuning
 * is off; else 0, as before the first call. A task called for the first time makes it 0 at once. */
ACCL_API acclResult_t acclCommTuned(acclComm_t comm, int* tuned);
/* Marks the start of a training step for the objective `step`; without marks it is found from the
 * calls. */
ACCL_API acclResult_t acclStepMark(acclComm_t comm);

#ifdef __cplusplus
}
#endif
#endif
