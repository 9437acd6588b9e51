// The collectives of the C interface: arguments are checked, then submitted.
#include <algorithm>
#include <optional>

#include "group.h"

namespace autoccl {
namespace {

std::optional<DataType> dtypeOf(acclDataType_t type) noexcept {
  switch (type) {
    case acclInt8:
      return DataType::kInt8;
    case acclUint8:
      return DataType::kUint8;
    case acclInt16:
      return DataType::kInt16;
    case acclUint16:
      return DataType::kUint16;
    case acclInt32:
      return DataType::kInt32;
    case acclUint32:
      return DataType::kUint32;
    case acclInt64:
      return DataType::kInt64;
    case acclUint64:
      return DataType::kUint64;
    case acclFloat16:
      return DataType::kFloat16;
    case acclFloat32:
      return DataType::kFloat32;
    case acclFloat64:
      return DataType::kFloat64;
    case acclBfloat16:
      return DataType::kBfloat16;
    case acclFloat8e4m3:
      return DataType::kFloat8e4m3;
    case acclFloat8e5m2:
      return DataType::kFloat8e5m2;
  }
  return std::nullopt;
}

double factorAt(const void* address, acclDataType_t type) {
  switch (type) {
    case acclFloat32:
      return *static_cast<const float*>(address);
    case acclFloat64:
      return *static_cast<const double*>(address);
    case acclInt32:
      return *static_cast<const int32_t*>(address);
    case acclInt64:
      return static_cast<double>(*static_cast<const int64_t*>(address));
    default:
      throw Error(ErrorCode::kUsage,
                  "the factor of a scaled sum has data type " + std::to_string(type),
                  "allowed: acclFloat32, acclFloat64, acclInt32, acclInt64");
  }
}

Error badArgument(const std::string& what, const std::string& allowed) {
  return {ErrorCode::kUsage, what, "allowed: " + allowed};
}

void setOp(UserCall& user, acclRedOp_t op) {
  static constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax,
                                      ReduceOp::kMin, ReduceOp::kAvg};
  if (op >= 0 && op <= acclAvg) {
    user.call.op = kOps[op];
    return;
  }
  acclComm& comm = *user.comm;
  const std::lock_guard lock(comm.scaledMutex);
  const size_t at = static_cast<size_t>(op) - acclComm::kFirstScaledOp;
  if (op < acclComm::kFirstScaledOp || at >= comm.scaledOps.size() || !comm.scaledOps[at].used)
    throw badArgument(
        "reduction " + std::to_string(op),
        "acclSum to acclAvg, or what acclRedOpCreatePreMulSum gave for this communicator");
  const acclComm::ScaledOp& scaled = comm.scaledOps[at];
  user.call.op = ReduceOp::kScaledSum;
  user.call.scale =
      scaled.device != nullptr ? factorAt(scaled.device, scaled.datatype) : scaled.factor;
}

DataType checkedType(acclDataType_t type) {
  if (const auto dtype = dtypeOf(type)) return *dtype;
  throw badArgument("data type " + std::to_string(type), "the values of acclDataType_t");
}

void checkPeer(const UserCall& user, int peer, const char* what) {
  if (peer < 0 || peer >= user.comm->nRanks)
    throw badArgument(std::string(what) + " " + std::to_string(peer),
                      "0 to " + std::to_string(user.comm->nRanks - 1));
}

void checkBuffers(const UserCall& user) {
  const int rank = user.comm->rank, n = user.comm->nRanks;
  const Call& c = user.call;
  if (!uneven(c.collective) && c.count > (UINT64_MAX >> 4) / static_cast<uint64_t>(n))
    throw badArgument("count " + std::to_string(c.count), "less than 2^60 elements over all ranks");
  if (c.send == nullptr && sendExtent(c, rank, n) != 0)
    throw badArgument("sendbuff is NULL", "a buffer of the call's bytes");
  if (c.recv == nullptr && recvExtent(c, rank, n) != 0)
    throw badArgument("recvbuff is NULL", "a buffer of the call's bytes");
}

/// The arrays of an uneven call outlive it if somebody else runs it.
void keepArrays(UserCall& user) {
  const bool here = user.stream == nullptr && user.comm->blocking && !groupOpen();
  if (here || !uneven(user.call.collective)) return;
  const auto n = static_cast<size_t>(user.comm->nRanks);
  auto copy = std::make_shared<std::vector<size_t>>(4 * n, 0);
  size_t at = 0;
  for (const size_t** array : {&user.call.sendCounts, &user.call.sendDispls, &user.call.recvCounts,
                               &user.call.recvDispls}) {
    if (*array == nullptr) continue;
    std::copy_n(*array, n, copy->begin() + static_cast<ptrdiff_t>(at));
    *array = copy->data() + at;
    at += n;
  }
  user.arrays = std::move(copy);
}

struct Arguments {
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;
  acclDataType_t type = acclUint8;
  acclRedOp_t op = acclSum;
  int root = 0;
  const size_t *sendCounts = nullptr, *sendDispls = nullptr, *recvCounts = nullptr,
               *recvDispls = nullptr;
};

acclResult_t collective(Collective which, const Arguments& a, acclComm_t comm,
                        acclStream_t stream) noexcept {
  return guarded([&] {
    if (const acclResult_t state = usable(comm); state != acclSuccess) return state;
    UserCall user;
    user.comm = comm;
    user.stream = stream;
    Call& c = user.call;
    c.collective = which;
    c.dtype = checkedType(a.type);
    c.root = a.root;
    c.send = a.send;
    c.recv = a.recv;
    c.count = a.count;
    c.sendCounts = a.sendCounts;
    c.sendDispls = a.sendDispls;
    c.recvCounts = a.recvCounts;
    c.recvDispls = a.recvDispls;
    if (reduces(which)) setOp(user, a.op);
    checkPeer(user, a.root, "root");
    if (uneven(which) &&
        (c.recvCounts == nullptr ||
         (which != Collective::kReduceScatterv && c.recvDispls == nullptr) ||
         (which == Collective::kAllToAllv && (c.sendCounts == nullptr || c.sendDispls == nullptr))))
      throw badArgument("an array of counts or displacements is NULL", "one value per rank");
    checkBuffers(user);
    keepArrays(user);
    return submit(user);
  });
}

acclResult_t letter(bool isSend, void* buffer, size_t count, acclDataType_t type, int peer,
                    acclComm_t comm, acclStream_t stream) noexcept {
  return guarded([&] {
    if (const acclResult_t state = usable(comm); state != acclSuccess) return state;
    UserCall user;
    user.comm = comm;
    user.stream = stream;
    user.isLetter = true;
    checkPeer(user, peer, "peer");
    user.letter = {isSend, peer, buffer, count * sizeOf(checkedType(type))};
    if (buffer == nullptr && count > 0)
      throw badArgument("the buffer is NULL", "a buffer of the call's bytes");
    if (peer == comm->rank && !groupOpen())
      throw badArgument("a send to or receive from oneself outside a group waits for ever",
                        "both inside acclGroupStart and acclGroupEnd");
    return submit(user);
  });
}

}  // namespace

}  // namespace autoccl

using namespace autoccl;

extern "C" {

acclResult_t acclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           acclDataType_t datatype, acclRedOp_t op, acclComm_t comm,
                           acclStream_t stream) {
  return collective(Collective::kAllReduce, {sendbuff, recvbuff, count, datatype, op}, comm,
                    stream);
}

acclResult_t acclReduce(const void* sendbuff, void* recvbuff, size_t count, acclDataType_t datatype,
                        acclRedOp_t op, int root, acclComm_t comm, acclStream_t stream) {
  return collective(Collective::kReduce, {sendbuff, recvbuff, count, datatype, op, root}, comm,
                    stream);
}

acclResult_t acclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           acclDataType_t datatype, int root, acclComm_t comm,
                           acclStream_t stream) {
  return collective(Collective::kBroadcast, {sendbuff, recvbuff, count, datatype, acclSum, root},
                    comm, stream);
}

acclResult_t acclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           acclDataType_t datatype, acclComm_t comm, acclStream_t stream) {
  return collective(Collective::kAllGather, {sendbuff, recvbuff, sendcount, datatype}, comm,
                    stream);
}

acclResult_t acclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               acclDataType_t datatype, acclRedOp_t op, acclComm_t comm,
                               acclStream_t stream) {
  return collective(Collective::kReduceScatter, {sendbuff, recvbuff, recvcount, datatype, op}, comm,
                    stream);
}

acclResult_t acclAllToAll(const void* sendbuff, void* recvbuff, size_t count,
                          acclDataType_t datatype, acclComm_t comm, acclStream_t stream) {
  return collective(Collective::kAllToAll, {sendbuff, recvbuff, count, datatype}, comm, stream);
}

acclResult_t acclGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                        acclDataType_t datatype, int root, acclComm_t comm, acclStream_t stream) {
  return collective(Collective::kGather, {sendbuff, recvbuff, sendcount, datatype, acclSum, root},
                    comm, stream);
}

acclResult_t acclScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                         acclDataType_t datatype, int root, acclComm_t comm, acclStream_t stream) {
  return collective(Collective::kScatter, {sendbuff, recvbuff, recvcount, datatype, acclSum, root},
                    comm, stream);
}

acclResult_t acclAllGatherv(const void* sendbuff, void* recvbuff, const size_t* recvcounts,
                            const size_t* displs, acclDataType_t datatype, acclComm_t comm,
                            acclStream_t stream) {
  return collective(
      Collective::kAllGatherv,
      {sendbuff, recvbuff, 0, datatype, acclSum, 0, nullptr, nullptr, recvcounts, displs}, comm,
      stream);
}

acclResult_t acclReduceScatterv(const void* sendbuff, void* recvbuff, const size_t* recvcounts,
                                acclDataType_t datatype, acclRedOp_t op, acclComm_t comm,
                                acclStream_t stream) {
  return collective(Collective::kReduceScatterv,
                    {sendbuff, recvbuff, 0, datatype, op, 0, nullptr, nullptr, recvcounts, nullptr},
                    comm, stream);
}

acclResult_t acclAllToAllv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                           void* recvbuff, const size_t* recvcounts, const size_t* rdispls,
                           acclDataType_t datatype, acclComm_t comm, acclStream_t stream) {
  return collective(
      Collective::kAllToAllv,
      {sendbuff, recvbuff, 0, datatype, acclSum, 0, sendcounts, sdispls, recvcounts, rdispls}, comm,
      stream);
}

acclResult_t acclSend(const void* sendbuff, size_t count, acclDataType_t datatype, int peer,
                      acclComm_t comm, acclStream_t stream) {
  return letter(true, const_cast<void*>(sendbuff), count, datatype, peer, comm, stream);
}

acclResult_t acclRecv(void* recvbuff, size_t count, acclDataType_t datatype, int peer,
                      acclComm_t comm, acclStream_t stream) {
  return letter(false, recvbuff, count, datatype, peer, comm, stream);
}

acclResult_t acclBarrier(acclComm_t comm, acclStream_t stream) {
  return collective(Collective::kBarrier, {}, comm, stream);
}

acclResult_t acclRedOpCreatePreMulSum(acclRedOp_t* op, void* scalar, acclDataType_t datatype,
                                      acclScalarResidence_t residence, acclComm_t comm) {
  return guarded([&] {
    if (const acclResult_t state = usable(comm); state != acclSuccess) return state;
    if (op == nullptr || scalar == nullptr)
      throw badArgument("op or scalar is NULL", "two addresses");
    acclComm::ScaledOp scaled;
    scaled.used = true;
    scaled.datatype = datatype;
    scaled.factor = factorAt(scalar, datatype);
    scaled.device = residence == acclScalarDevice ? scalar : nullptr;
    const std::lock_guard lock(comm->scaledMutex);
    auto& all = comm->scaledOps;
    auto place = std::find_if(all.begin(), all.end(), [](const auto& s) { return !s.used; });
    if (place == all.end()) place = all.insert(all.end(), scaled);
    *place = scaled;
    *op = static_cast<acclRedOp_t>(acclComm::kFirstScaledOp + (place - all.begin()));
    return acclSuccess;
  });
}

acclResult_t acclRedOpDestroy(acclRedOp_t op, acclComm_t comm) {
  return guarded([&] {
    if (comm == nullptr) throw badArgument("the communicator is NULL", "a communicator");
    const std::lock_guard lock(comm->scaledMutex);
    const size_t at = static_cast<size_t>(op) - acclComm::kFirstScaledOp;
    if (op < acclComm::kFirstScaledOp || at >= comm->scaledOps.size() || !comm->scaledOps[at].used)
      throw badArgument("reduction " + std::to_string(op),
                        "what acclRedOpCreatePreMulSum gave for this communicator");
    comm->scaledOps[at].used = false;
    return acclSuccess;
  });
}

}  // extern "C"
