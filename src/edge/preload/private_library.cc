#include "edge/preload/private_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "edge/preload/target.h"

namespace autoccl::preload {
namespace {

const void* objectAt(const void* address) noexcept {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::kSystem, "no copy of " + path + ": " + why);
}

/// The file as a descriptor without a place on disk. It stays open: its number is the copy's name.
int copyOf(const std::string& path, size_t& bytes) {
  const int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (from < 0 || fstat(from, &info) != 0) refuse(path, std::strerror(errno));
  const int to = memfd_create("libnccl-variant", MFD_CLOEXEC);
  bytes = static_cast<size_t>(info.st_size);
  size_t done = 0;
  while (to >= 0 && done < bytes) {
    const ssize_t n = sendfile(to, from, nullptr, bytes - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  const int error = errno;
  close(from);
  if (to >= 0 && done == bytes) return to;
  if (to >= 0) close(to);
  refuse(path, std::strerror(error));
}

}  // namespace

std::atomic<bool> PrivateLibrary::any_{false};
std::array<std::atomic<PrivateLibrary*>, PrivateLibrary::kPurposes> PrivateLibrary::all_{};

PrivateLibrary* PrivateLibrary::open(const void* address, size_t purpose) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto& place = all_.at(purpose);
  if (PrivateLibrary* known = place.load()) return known;
  PrivateLibrary* made = make(address);
  place.store(made, std::memory_order_release);
  any_.store(true, std::memory_order_release);
  return made;
}

PrivateLibrary* PrivateLibrary::make(const void* address) {
  const std::string path = objectPath(address);
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.rfind("libnccl.so", 0) != 0 && name.rfind("librccl.so", 0) != 0)
    refuse(path, "NCCL is linked into it");
  size_t bytes = 0;
  const int fd = copyOf(path, bytes);
  const std::string place = "/proc/self/fd/" + std::to_string(fd);
  void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    close(fd);
    refuse(path, why != nullptr ? why : "it does not load");
  }
  auto* made = new PrivateLibrary;
  made->handle_ = handle;
  made->bytes_ = bytes;
  made->object_ = objectAt(dlsym(handle, "pncclGetVersion"));
  if (made->object_ != nullptr) return made;
  delete made;  // what is loaded stays
  refuse(path, "it has no pncclGetVersion");
}

PrivateLibrary* PrivateLibrary::search(const void* caller) noexcept {
  const void* object = objectAt(caller);
  for (auto& place : all_) {
    PrivateLibrary* library = place.load();
    if (library != nullptr && library->object_ == object) return library;
  }
  return nullptr;
}

void* PrivateLibrary::of(Symbol symbol) noexcept {
  auto& known = known_[static_cast<size_t>(symbol)];
  if (void* found = known.load(std::memory_order_acquire)) return found;
  std::array<char, 64> name{'p'};
  std::strncpy(name.data() + 1, kSymbolNames[static_cast<size_t>(symbol)], name.size() - 2);
  void* found = dlsym(handle_, name.data());
  known.store(found, std::memory_order_release);
  return found;
}

}  // namespace autoccl::preload
