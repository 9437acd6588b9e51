#include "transport/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace autoccl {
namespace {

uint64_t numberIn(const std::string& file) {
  std::ifstream in(file);
  uint64_t value = 0;
  return in >> value ? value : UINT64_MAX;  // "max" and a missing file mean: no limit here
}

uint64_t memAvailable() {
  std::ifstream in("/proc/meminfo");
  std::string word;
  while (in >> word) {
    if (word != "MemAvailable:") continue;
    uint64_t kib = 0;
    return in >> kib ? kib * 1024 : UINT64_MAX;
  }
  return UINT64_MAX;
}

uint64_t cgroupLeft() {
  const uint64_t limit = numberIn("/sys/fs/cgroup/memory.max");
  const uint64_t used = numberIn("/sys/fs/cgroup/memory.current");
  if (limit == UINT64_MAX || used == UINT64_MAX) return UINT64_MAX;
  return limit > used ? limit - used : 0;
}

}  // namespace

uint64_t availableBytes() {
  return std::min(memAvailable(), cgroupLeft());
}

size_t pageBytes() noexcept {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

Fd newSharedMemory(size_t bytes, const std::string& purpose) {
  const uint64_t available = availableBytes();
  if (bytes > available)
    throw Error(ErrorCode::kSystem,
                purpose + " needs " + std::to_string(bytes) + " bytes of shared memory, " +
                    std::to_string(available) + " are available",
                "raise the memory limit of the container or use fewer ranks");
  Fd fd(::memfd_create("autoccl", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd)
    throw Error(ErrorCode::kSystem,
                purpose + ": memfd_create: " + std::generic_category().message(errno),
                "raise `ulimit -n`");
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    throw Error(ErrorCode::kSystem, purpose + ": cannot size " + std::to_string(bytes) +
                                        " bytes: " + std::generic_category().message(errno));
  // Nobody may shrink it under a reader's feet.
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

Mapping::Mapping(const Fd& fd, size_t bytes, bool populate) : bytes_(bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | (populate ? MAP_POPULATE : 0), fd.get(), 0);
  if (at == MAP_FAILED)
    throw Error(ErrorCode::kSystem,
                "cannot map " + std::to_string(bytes) +
                    " bytes of shared memory: " + std::generic_category().message(errno),
                "raise `ulimit -v`");
  data_ = static_cast<std::byte*>(at);
}

Mapping Mapping::reserve(size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    throw Error(ErrorCode::kSystem,
                "cannot reserve " + std::to_string(bytes) +
                    " bytes of address space: " + std::generic_category().message(errno),
                "raise `ulimit -v`");
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(at);
  mapping.bytes_ = bytes;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace autoccl
