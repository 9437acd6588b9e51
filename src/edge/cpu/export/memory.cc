// Memory of the C interface.
#include "handle.h"
#include "transport/regions.h"

namespace autoccl {
namespace {

void* handleOf(uint32_t region) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(region));
}

}  // namespace

}  // namespace autoccl

using namespace autoccl;

extern "C" {

acclResult_t acclMemAlloc(void** ptr, size_t bytes) {
  return guarded([&] {
    if (ptr == nullptr) return refuse(acclInvalidArgument, "ptr is NULL");
    *ptr = nullptr;
    *ptr = Regions::ofProcess().allocate(bytes);
    return acclSuccess;
  });
}

acclResult_t acclMemFree(void* ptr) {
  return guarded([&] {
    if (ptr == nullptr || Regions::ofProcess().release(ptr)) return acclSuccess;
    return refuse(acclInvalidArgument, "acclMemFree: this address was not given by acclMemAlloc");
  });
}

acclResult_t acclCommRegister(acclComm_t comm, void* ptr, size_t bytes, void** handle) {
  return guarded([&] {
    if (const acclResult_t state = usable(comm); state != acclSuccess) return state;
    if (ptr == nullptr || handle == nullptr)
      return refuse(acclInvalidArgument, "ptr or handle is NULL");
    *handle = handleOf(Regions::ofProcess().remap(ptr, bytes));
    return acclSuccess;
  });
}

acclResult_t acclCommDeregister(acclComm_t comm, void* handle) {
  return guarded([&] {
    if (comm == nullptr) return refuse(acclInvalidArgument, "the communicator is NULL");
    if (handle != nullptr)
      (void)Regions::ofProcess().unmap(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
    return acclSuccess;
  });
}

}  // extern "C"
