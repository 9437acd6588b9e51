// As NCCL's, every function has a weak name nccl* and a strong one pnccl*, and some call others by
// their weak names. ncclRecv and all that came after 2.22 are missing.
#include "tests/preload/fake_nccl.h"

#include <atomic>
#include <cstring>
#include <utility>

using namespace autoccl::preload;

namespace autoccl::preload {
struct NcclComm {
  int rank, nRanks, device;
};
}  // namespace autoccl::preload

namespace {
std::atomic<FakeHook> hook{nullptr};
std::atomic<int> result{0};
thread_local int groupDepth = 0;
thread_local Comm* splitInGroup = nullptr;  // written when the group ends
thread_local Comm splitMade = nullptr;

int called(const char* function) {
  if (const FakeHook to = hook.load()) to(function);
  return result.load();
}
}  // namespace

#define FAKE(name, ...)                                                                     \
  extern "C" __attribute__((visibility("default"), alias(#name))) int p##name(__VA_ARGS__); \
  extern "C" __attribute__((visibility("default"), weak)) int name(__VA_ARGS__)
#define DECLARED(name, ...) extern "C" int name(__VA_ARGS__)

extern "C" __attribute__((visibility("default"))) void fakeNcclSet(FakeHook to, int returned) {
  hook.store(to);
  result.store(returned);
}

DECLARED(ncclBroadcast, const void*, void*, size_t, int, int, Comm, Stream);
DECLARED(ncclGetUniqueId, UniqueId*);

FAKE(ncclGetVersion, int* version) {
  *version = FAKE_NCCL_VERSION;
  return 0;
}
FAKE(ncclGetUniqueId, UniqueId* id) {
  std::memset(id->bytes, 7, sizeof id->bytes);
  return called("pncclGetUniqueId");
}
FAKE(ncclCommInitRank, Comm* comm, int nRanks, UniqueId, int rank) {
  const int answer = called("pncclCommInitRank");
  *comm = answer == 0 || answer == kInProgress ? new NcclComm{rank, nRanks, 3} : nullptr;
  return answer;
}
FAKE(ncclCommInitAll, Comm* comms, int n, const int* devices) {
  UniqueId id;
  const int answer = ncclGetUniqueId(&id);
  for (int i = 0; i < n; ++i) comms[i] = new NcclComm{i, n, devices ? devices[i] : i};
  return answer;
}
FAKE(ncclCommSplit, Comm comm, int colour, int key, Comm* child, void*) {
  const int answer = called("pncclCommSplit");
  splitMade =
      colour < 0 || answer != 0 ? nullptr : new NcclComm{key, comm->nRanks / 2, comm->device};
  *child = groupDepth == 0 ? splitMade : nullptr;
  splitInGroup = groupDepth == 0 ? nullptr : child;
  return answer;
}
FAKE(ncclCommCount, Comm comm, int* n) {
  *n = comm->nRanks;
  return 0;
}
FAKE(ncclCommUserRank, Comm comm, int* rank) {
  *rank = comm->rank;
  return 0;
}
FAKE(ncclCommCuDevice, Comm comm, int* device) {
  *device = comm->device;
  return 0;
}
FAKE(ncclCommGetAsyncError, Comm, int* error) {
  *error = 0;
  return called("pncclCommGetAsyncError");
}
FAKE(ncclCommFinalize, Comm) {
  return called("pncclCommFinalize");
}
FAKE(ncclCommDestroy, Comm comm) {
  delete comm;
  return called("pncclCommDestroy");
}
FAKE(ncclCommAbort, Comm comm) {
  delete comm;
  return called("pncclCommAbort");
}
FAKE(ncclGroupStart) {
  ++groupDepth;
  return called("pncclGroupStart");
}
FAKE(ncclGroupEnd) {
  if (--groupDepth == 0 && splitInGroup != nullptr)
    *std::exchange(splitInGroup, nullptr) = splitMade;
  return called("pncclGroupEnd");
}
FAKE(ncclGroupSimulateEnd, void*) {
  --groupDepth;
  return called("pncclGroupSimulateEnd");
}
FAKE(ncclAllReduce, const void*, void*, size_t, int, int, Comm, Stream) {
  return called("pncclAllReduce");
}
FAKE(ncclAllGather, const void*, void*, size_t, int, Comm, Stream) {
  return called("pncclAllGather");
}
FAKE(ncclBroadcast, const void*, void*, size_t, int, int, Comm, Stream) {
  return called("pncclBroadcast");
}
FAKE(ncclBcast, void* buffer, size_t count, int dtype, int root, Comm comm, Stream stream) {
  called("pncclBcast");
  return ncclBroadcast(buffer, buffer, count, dtype, root, comm, stream);
}
FAKE(ncclSend, const void*, size_t, int, int, Comm, Stream) {
  return called("pncclSend");
}
FAKE(ncclCommRegister, Comm, void*, size_t, void**) {
  return called("pncclCommRegister");
}
