#include "tests/cuda_double/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

namespace autoccl::cuda_double {
namespace {

struct Allocation {
  size_t bytes = 0;
  int fd = -1;  // of a mapping: none of ours
};

struct Allocations {
  std::mutex mutex;
  std::map<CUdeviceptr, Allocation> all;
};

Allocations& allocations() {
  static auto* made = new Allocations;  // outlives the threads of streams
  return *made;
}

/// What a handle holds: who has the memory open, under which descriptor.
struct Ticket {
  int pid;
  int fd;
  uint64_t bytes;
};
static_assert(sizeof(Ticket) <= sizeof(CUipcMemHandle));

CUdeviceptr mapped(int fd, size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? 0 : static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(at));
}

void enter(CUdeviceptr at, Allocation allocation) {
  const std::lock_guard lock(allocations().mutex);
  allocations().all[at] = allocation;
}

}  // namespace

CUdeviceptr allocate(size_t bytes) {
  const int fd = memfd_create("cuda double", MFD_CLOEXEC);
  if (fd < 0) return 0;
  const CUdeviceptr at = ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? mapped(fd, bytes) : 0;
  if (at == 0)
    close(fd);
  else
    enter(at, {bytes, fd});
  return at;
}

bool release(CUdeviceptr address) {
  const std::lock_guard lock(allocations().mutex);
  const auto it = allocations().all.find(address);
  if (it == allocations().all.end()) return false;
  munmap(reinterpret_cast<void*>(static_cast<uintptr_t>(address)), it->second.bytes);
  if (it->second.fd >= 0) close(it->second.fd);
  allocations().all.erase(it);
  return true;
}

CUresult exportHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  const std::lock_guard lock(allocations().mutex);
  const auto it = allocations().all.find(address);
  if (it == allocations().all.end() || it->second.fd < 0) return CUDA_ERROR_INVALID_VALUE;
  const Ticket ticket{getpid(), it->second.fd, it->second.bytes};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &ticket, sizeof ticket);
  return CUDA_SUCCESS;
}

CUresult openHandle(CUdeviceptr* address, const CUipcMemHandle& handle) {
  Ticket ticket{};
  std::memcpy(&ticket, &handle, sizeof ticket);
  if (ticket.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", ticket.pid, ticket.fd);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr at = mapped(fd, ticket.bytes);
  close(fd);
  if (at == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  enter(at, {ticket.bytes, -1});
  *address = at;
  return CUDA_SUCCESS;
}

bool rangeOf(CUdeviceptr address, CUdeviceptr* base, size_t* bytes) {
  const std::lock_guard lock(allocations().mutex);
  auto it = allocations().all.upper_bound(address);
  if (it == allocations().all.begin()) return false;
  --it;
  if (address >= it->first + it->second.bytes) return false;
  *base = it->first;
  *bytes = it->second.bytes;
  return true;
}

}  // namespace autoccl::cuda_double
