// Groups: what happens between ncclGroupStart and the outermost ncclGroupEnd.
#pragma once

#include <functional>
#include <memory>

#include "tests/nccl_double/comm.h"

namespace autoccl::nccl_double {

void groupOpen() noexcept;
/// Closes one level. At the outermost: starts, then choices, then launches; for non-blocking
/// communicators on a thread of its own, answering ncclInProgress.
[[nodiscard]] ncclResult_t groupClose(ncclSimInfo_t* simulation);
/// An error inside a group is what its end returns.
ncclResult_t groupError(ncclResult_t result) noexcept;

/// The communicator has work in the open group.
void groupJoin(ncclComm& comm);
/// A start to be done at the group's end: fills *handle once it has succeeded, or at once where the
/// communicator is non-blocking.
void groupAddStart(ncclComm_t* handle, std::unique_ptr<ncclComm> comm, Birth birth);

/// The mask and handles of the profiler's API events of this thread's open group.
struct ApiEvents {
  int mask = 0;
  void* groupApi = nullptr;
};
[[nodiscard]] ApiEvents apiEvents(ncclComm& comm, bool captured);

}  // namespace autoccl::nccl_double
