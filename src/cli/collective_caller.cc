#include "cli/collective_caller.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace autoccl::cli {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

std::vector<Collective> sweepCollectives() {
  return {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
          Collective::kBroadcast, Collective::kReduce,    Collective::kAllToAll,
          Collective::kGather,    Collective::kScatter};
}

void needSuccess(acclResult_t result, acclComm_t comm) {
  if (result == acclSuccess) return;
  throw Error(ErrorCode::kSystem,
              std::string(acclGetErrorString(result)) + ": " + acclGetLastError(comm));
}

CollectiveCaller::Memory::Memory(size_t bytes, bool registered) : registered_(registered) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  if (registered)
    needSuccess(acclMemAlloc(&memory_, bytes), nullptr);
  else
    memory_ = std::aligned_alloc(kPage, bytes);
  if (memory_ == nullptr)
    throw Error(ErrorCode::kSystem,
                "no memory for a buffer of " + std::to_string(bytes) + " bytes");
  std::fill_n(static_cast<float*>(memory_), bytes / sizeof(float), 1.0f);
}

CollectiveCaller::Memory::~Memory() {
  if (registered_)
    acclMemFree(memory_);
  else
    std::free(memory_);
}

CollectiveCaller::CollectiveCaller(acclComm_t comm, uint64_t maxBytes, bool registered)
    : comm_(comm) {
  needSuccess(acclCommCount(comm, &nRanks_), comm);
  const size_t bytes = std::max<size_t>(maxBytes, sizeof(float) * static_cast<size_t>(nRanks_));
  send_ = std::make_unique<Memory>(bytes, registered);
  receive_ = std::make_unique<Memory>(bytes, registered);
}

void CollectiveCaller::call(Collective collective, uint64_t bytes) {
  const void* from = send_->get();
  void* to = receive_->get();
  const size_t all = std::max<size_t>(1, bytes / sizeof(float));
  const size_t share = std::max<size_t>(1, all / static_cast<size_t>(nRanks_));
  const auto done = [&]() -> acclResult_t {
    switch (collective) {
      case Collective::kAllReduce:
        return acclAllReduce(from, to, all, acclFloat32, acclSum, comm_, nullptr);
      case Collective::kReduce:
        return acclReduce(from, to, all, acclFloat32, acclSum, 0, comm_, nullptr);
      case Collective::kBroadcast:
        return acclBroadcast(from, to, all, acclFloat32, 0, comm_, nullptr);
      case Collective::kAllGather:
        return acclAllGather(from, to, share, acclFloat32, comm_, nullptr);
      case Collective::kReduceScatter:
        return acclReduceScatter(from, to, share, acclFloat32, acclSum, comm_, nullptr);
      case Collective::kAllToAll:
        return acclAllToAll(from, to, share, acclFloat32, comm_, nullptr);
      case Collective::kGather:
        return acclGather(from, to, share, acclFloat32, 0, comm_, nullptr);
      case Collective::kScatter:
        return acclScatter(from, to, share, acclFloat32, 0, comm_, nullptr);
      default:
        return acclInvalidArgument;
    }
  };
  needSuccess(done(), comm_);
}

}  // namespace autoccl::cli
