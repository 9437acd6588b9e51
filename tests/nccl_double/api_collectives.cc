// Collectives, sends and receives, groups.
#include <algorithm>
#include <optional>

#include "tests/nccl_double/api.h"
#include "tests/nccl_double/group.h"
#include "tests/nccl_double/launch.h"
#include "tests/nccl_double/log.h"
#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {
namespace {

constexpr int kFirstScaledOp = 5;

constexpr DataType kTypes[] = {DataType::kInt8,     DataType::kUint8,      DataType::kInt32,
                               DataType::kUint32,   DataType::kInt64,      DataType::kUint64,
                               DataType::kFloat16,  DataType::kFloat32,    DataType::kFloat64,
                               DataType::kBfloat16, DataType::kFloat8e4m3, DataType::kFloat8e5m2};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin,
                             ReduceOp::kAvg};

struct Arguments {
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclInt8;
  int op = ncclSum;
  int root = 0;
};

Collective collectiveOf(nccl::Func func) {
  switch (func) {
    case nccl::kFuncBroadcast:
      return Collective::kBroadcast;
    case nccl::kFuncReduce:
      return Collective::kReduce;
    case nccl::kFuncAllGather:
      return Collective::kAllGather;
    case nccl::kFuncReduceScatter:
      return Collective::kReduceScatter;
    default:
      return Collective::kAllReduce;
  }
}

double scaleOf(const ncclComm::ScaledOp& op) {
  if (op.device == nullptr) return op.factor;
  return op.dtype == ncclFloat64 ? *static_cast<const double*>(op.device)
                                 : static_cast<double>(*static_cast<const float*>(op.device));
}

bool setOp(const ncclComm& comm, int op, Call& call) {
  if (op >= 0 && op < kFirstScaledOp) {
    call.op = kOps[op];
    return true;
  }
  const auto at = static_cast<size_t>(op - kFirstScaledOp);
  if (op < 0 || at >= comm.scaledOps.size() || !comm.scaledOps[at].used) return false;
  call.op = ReduceOp::kScaledSum;
  call.scale = scaleOf(comm.scaledOps[at]);
  return true;
}

bool argumentsFit(const ncclComm& comm, const Arguments& a) {
  return a.type >= 0 && a.type <= ncclFloat8e5m2 && a.root >= 0 && a.root < comm.nRanks;
}

void append(ncclComm& comm, nccl::Func func, const Arguments& a, const Call& call,
            cudaStream_t stream) {
  CollTask task;
  task.func = func;
  task.call = call;
  task.count = a.count;
  task.dtype = a.type;
  task.elementBytes = sizeOf(call.dtype);
  task.op = reduces(call.collective) ? a.op : ncclSum;
  if (func == nccl::kFuncAllGather || func == nccl::kFuncBroadcast) {
    task.count *= task.elementBytes;
    task.dtype = ncclInt8;
    task.elementBytes = 1;
  }
  task.trafficPerByte = func == nccl::kFuncAllReduce ? 2
                        : func == nccl::kFuncAllGather || func == nccl::kFuncReduceScatter
                            ? static_cast<size_t>(comm.nRanks)
                            : 1;
  task.traffic = task.count * task.elementBytes * task.trafficPerByte;
  task.stream = stream;
  const bool captured = capturing(stream);
  const ApiEvents events = apiEvents(comm, captured);
  task.mask = events.mask;
  task.groupApi = events.groupApi;
  constexpr int kUnderApi = nccl::kEventCollApi | nccl::kEventColl | nccl::kEventProxyOp |
                            nccl::kEventProxyStep | nccl::kEventKernelCh | nccl::kEventNetPlugin;
  if (comm.profiler != nullptr && (events.mask & kUnderApi) != 0) {
    CollReport report;
    report.func = nameOfFunc(func);
    report.count = a.count;
    report.dtype = nameOfType(a.type);
    report.root = a.root;
    report.stream = stream;
    report.captured = captured;
    task.collApi =
        comm.profiler->startCollApi(comm.profilerContext, comm.rank, events.groupApi, report);
    comm.profiler->stop(task.collApi);
  }
  comm.tasks.push_back(task);
}

ncclResult_t appendColl(ncclComm& comm, nccl::Func func, const Arguments& a, cudaStream_t stream) {
  if (const ncclResult_t state = comm.usable(); state != ncclSuccess) return state;
  Call call;
  call.collective = collectiveOf(func);
  if (!argumentsFit(comm, a) || (reduces(call.collective) && !setOp(comm, a.op, call))) {
    warn("%s: an argument is out of its range", nameOfFunc(func));
    return ncclInvalidArgument;
  }
  if (a.count == 0) return ncclSuccess;
  call.dtype = kTypes[a.type];
  call.root = a.root;
  call.send = a.send;
  call.recv = a.recv;
  call.count = a.count;
  if (comm.nRanks == 1) return launchAlone(comm, call, stream);
  groupJoin(comm);
  append(comm, func, a, call, stream);
  return ncclSuccess;
}

/// Every call is a group of its own; in a user's group it is a level deeper.
template <class Body>
ncclResult_t asGroup(ncclComm_t comm, const Body& body) {
  if (comm == nullptr) {
    warn("the communicator is NULL");
    return groupError(ncclInvalidArgument);
  }
  groupOpen();
  const ncclResult_t appended = groupError(body());
  const ncclResult_t closed = groupClose(nullptr);
  if (appended != ncclSuccess) return appended;
  if (!comm->config.blocking && closed == ncclSuccess)
    return static_cast<ncclResult_t>(comm->asyncError.load());
  return closed;
}

ncclResult_t collective(nccl::Func func, const Arguments& a, ncclComm_t comm, cudaStream_t stream) {
  return asGroup(comm, [&] { return appendColl(*comm, func, a, stream); });
}

ncclResult_t appendLetter(ncclComm& comm, bool send, void* buffer, size_t bytes, int peer,
                          cudaStream_t stream) {
  if (peer < 0 || peer >= comm.nRanks) return ncclInvalidArgument;
  groupJoin(comm);
  comm.letters.push_back({send, peer, buffer, bytes});
  comm.letterStreams.push_back(stream);
  return ncclSuccess;
}

char* shifted(const void* base, size_t bytes) {
  return static_cast<char*>(const_cast<void*>(base)) + bytes;
}

ncclResult_t letter(bool send, const void* buffer, size_t count, ncclDataType_t type, int peer,
                    ncclComm_t comm, cudaStream_t stream) {
  return asGroup(comm, [&] {
    if (const ncclResult_t state = comm->usable(); state != ncclSuccess) return state;
    return appendLetter(*comm, send, shifted(buffer, 0), count * sizeOf(kTypes[type]), peer,
                        stream);
  });
}

/// AlltoAll, Gather and Scatter are sends and receives: what goes from me to rank r and back.
template <class Send, class Recv>
ncclResult_t exchangeAll(ncclComm_t comm, size_t bytes, cudaStream_t stream, const Send& sendTo,
                         const Recv& recvFrom) {
  return asGroup(comm, [&] {
    ncclResult_t result = comm->usable();
    for (int r = 0; r < comm->nRanks && result == ncclSuccess; ++r) {
      if (char* from = sendTo(r)) result = appendLetter(*comm, true, from, bytes, r, stream);
      char* into = recvFrom(r);
      if (into != nullptr && result == ncclSuccess)
        result = appendLetter(*comm, false, into, bytes, r, stream);
    }
    return result;
  });
}

}  // namespace
}  // namespace autoccl::nccl_double

using namespace autoccl::nccl_double;

NCCL_DOUBLE_API(ncclResult_t, AllReduce, const void* send, void* recv, size_t count,
                ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return collective(autoccl::nccl::kFuncAllReduce, {send, recv, count, type, op, 0}, comm, stream);
}
NCCL_DOUBLE_API(ncclResult_t, Reduce, const void* send, void* recv, size_t count,
                ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
                cudaStream_t stream) {
  return collective(autoccl::nccl::kFuncReduce, {send, recv, count, type, op, root}, comm, stream);
}
NCCL_DOUBLE_API(ncclResult_t, Broadcast, const void* send, void* recv, size_t count,
                ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream) {
  return collective(autoccl::nccl::kFuncBroadcast, {send, recv, count, type, ncclSum, root}, comm,
                    stream);
}
NCCL_DOUBLE_API(ncclResult_t, Bcast, void* buff, size_t count, ncclDataType_t type, int root,
                ncclComm_t comm, cudaStream_t stream) {
  return ncclBroadcast(buff, buff, count, type, root, comm, stream);
}
NCCL_DOUBLE_API(ncclResult_t, AllGather, const void* send, void* recv, size_t count,
                ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return collective(autoccl::nccl::kFuncAllGather, {send, recv, count, type, ncclSum, 0}, comm,
                    stream);
}
NCCL_DOUBLE_API(ncclResult_t, ReduceScatter, const void* send, void* recv, size_t count,
                ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return collective(autoccl::nccl::kFuncReduceScatter, {send, recv, count, type, op, 0}, comm,
                    stream);
}
NCCL_DOUBLE_API(ncclResult_t, Send, const void* send, size_t count, ncclDataType_t type, int peer,
                ncclComm_t comm, cudaStream_t stream) {
  return letter(true, send, count, type, peer, comm, stream);
}
NCCL_DOUBLE_API(ncclResult_t, Recv, void* recv, size_t count, ncclDataType_t type, int peer,
                ncclComm_t comm, cudaStream_t stream) {
  return letter(false, recv, count, type, peer, comm, stream);
}
NCCL_DOUBLE_API(ncclResult_t, AlltoAll, const void* send, void* recv, size_t count,
                ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = count * autoccl::sizeOf(kTypes[type]);
  return exchangeAll(
      comm, bytes, stream, [&](int r) { return shifted(send, static_cast<size_t>(r) * bytes); },
      [&](int r) { return shifted(recv, static_cast<size_t>(r) * bytes); });
}
NCCL_DOUBLE_API(ncclResult_t, Gather, const void* send, void* recv, size_t count,
                ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = count * autoccl::sizeOf(kTypes[type]);
  return exchangeAll(
      comm, bytes, stream, [&](int r) { return r == root ? shifted(send, 0) : nullptr; },
      [&](int r) {
        return comm->rank == root ? shifted(recv, static_cast<size_t>(r) * bytes) : nullptr;
      });
}
NCCL_DOUBLE_API(ncclResult_t, Scatter, const void* send, void* recv, size_t count,
                ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = count * autoccl::sizeOf(kTypes[type]);
  return exchangeAll(
      comm, bytes, stream,
      [&](int r) {
        return comm->rank == root ? shifted(send, static_cast<size_t>(r) * bytes) : nullptr;
      },
      [&](int r) { return r == root ? shifted(recv, 0) : nullptr; });
}

NCCL_DOUBLE_API(ncclResult_t, GroupStart, void) {
  groupOpen();
  return ncclSuccess;
}
NCCL_DOUBLE_API(ncclResult_t, GroupEnd, void) {
  return groupClose(nullptr);
}
NCCL_DOUBLE_API(ncclResult_t, GroupSimulateEnd, ncclSimInfo_t* info) {
  if (!release().simulate || info == nullptr) return ncclInvalidArgument;
  return groupClose(info);
}

NCCL_DOUBLE_API(ncclResult_t, RedOpCreatePreMulSum, ncclRedOp_t* op, void* scalar,
                ncclDataType_t type, ncclScalarResidence_t residence, ncclComm_t comm) {
  if (op == nullptr || scalar == nullptr || comm == nullptr) return ncclInvalidArgument;
  ncclComm::ScaledOp made;
  made.used = true;
  made.dtype = type;
  if (residence == ncclScalarDevice)
    made.device = scalar;
  else
    made.factor = type == ncclFloat64 ? *static_cast<double*>(scalar)
                                      : static_cast<double>(*static_cast<float*>(scalar));
  comm->scaledOps.push_back(made);
  *op = static_cast<ncclRedOp_t>(kFirstScaledOp + static_cast<int>(comm->scaledOps.size()) - 1);
  return ncclSuccess;
}
NCCL_DOUBLE_API(ncclResult_t, RedOpDestroy, ncclRedOp_t op, ncclComm_t comm) {
  const auto at = static_cast<size_t>(op - kFirstScaledOp);
  if (comm == nullptr || at >= comm->scaledOps.size()) return ncclInvalidArgument;
  comm->scaledOps[at].used = false;
  return ncclSuccess;
}
