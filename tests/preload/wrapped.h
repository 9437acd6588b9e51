// The wrapped calls as a program declares them, and the fake library behind them.
#pragma once

#include <dlfcn.h>

#include "tests/preload/fake_nccl.h"

#define WRAPPED(name, ...) extern "C" int name(__VA_ARGS__)

namespace autoccl::preload {

WRAPPED(ncclGetUniqueId, UniqueId* id);
WRAPPED(ncclCommInitRank, Comm* comm, int nRanks, UniqueId id, int rank);
WRAPPED(ncclCommInitAll, Comm* comms, int n, const int* devices);
WRAPPED(ncclCommSplit, Comm comm, int colour, int key, Comm* child, void* config);
WRAPPED(ncclCommGetAsyncError, Comm comm, int* error);
WRAPPED(ncclCommFinalize, Comm comm);
WRAPPED(ncclCommDestroy, Comm comm);
WRAPPED(ncclCommAbort, Comm comm);
WRAPPED(ncclGroupStart);
WRAPPED(ncclGroupEnd);
WRAPPED(ncclGroupSimulateEnd, void* info);
WRAPPED(ncclAllReduce, const void* in, void* out, size_t count, int dtype, int op, Comm, Stream);
WRAPPED(ncclAllGather, const void* in, void* out, size_t count, int dtype, Comm, Stream);
WRAPPED(ncclBcast, void* buffer, size_t count, int dtype, int root, Comm, Stream);
WRAPPED(ncclSend, const void* in, size_t count, int dtype, int peer, Comm, Stream);
WRAPPED(ncclRecv, void* out, size_t count, int dtype, int peer, Comm, Stream);
WRAPPED(ncclCommRegister, Comm comm, void* buffer, size_t bytes, void** handle);

constexpr int kFloat32 = 7;
constexpr int kSum = 0;

/// Where the build put the fake.
extern const char* const fakeNcclPath;

/// The fake, loaded as PyTorch loads NCCL: out of sight of the global scope. Stays loaded.
inline void* fakeNccl() {
  static void* const library = dlopen(fakeNcclPath, RTLD_NOW | RTLD_LOCAL);
  return library;
}
inline void setFake(FakeHook hook, int result = kSuccess) {
  reinterpret_cast<SetFakeHook>(dlsym(fakeNccl(), "fakeNcclSet"))(hook, result);
}

}  // namespace autoccl::preload
