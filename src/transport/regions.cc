#include "transport/regions.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/clock.h"
#include "base/error.h"
#include "transport/quiet_thread.h"
#include "transport/region_wire.h"
#include "transport/unix_socket.h"

namespace autoccl {
namespace {

constexpr int64_t kRequestNs = 1'000'000'000;  // a connected peer has this long to ask

void* asPointer(uint64_t address) {
  return reinterpret_cast<void*>(address);
}

std::string reason() {
  return std::generic_category().message(errno);
}

void writeAll(const Fd& fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  off_t offset = 0;
  while (bytes > 0) {
    const ssize_t n = ::pwrite(fd.get(), at, bytes, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw Error(ErrorCode::kSystem, "cannot copy a buffer into shared memory: " + reason());
    at += n;
    offset += n;
    bytes -= static_cast<size_t>(n);
  }
}

/// Puts a private copy of the pages over them. False: no memory; they stay shared.
bool makePrivate(uint64_t begin, size_t bytes) noexcept {
  void* copy = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  std::memcpy(copy, asPointer(begin), bytes);
  return ::mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, asPointer(begin)) !=
         MAP_FAILED;
}

}  // namespace

Regions& Regions::ofProcess() {
  static auto* const regions =
      new Regions();  // outlives every thread that may still look something up
  return *regions;
}

Regions::Regions() : slots_(std::make_unique<std::array<Slot, kMaxRegions>>()) {
  // The mutex is taken over the fork, so that the child finds the table whole.
  ::pthread_atfork([] { ofProcess().mutex_.lock(); }, [] { ofProcess().mutex_.unlock(); },
                   [] { ofProcess().forgetInChild(); });
}

void Regions::forgetInChild() noexcept {
  version_.fetch_add(1, std::memory_order_acq_rel);
  for (auto& [id, region] : owned_) {
    // A remapped page looked private to the program: the child gets a copy, as fork promises.
    if (region.remapped) makePrivate(region.begin, region.bytes);
    region.fd.reset();
  }
  owned_.clear();
  count_.store(0, std::memory_order_relaxed);
  server_ = {};
  version_.fetch_add(1, std::memory_order_acq_rel);
  mutex_.unlock();
}

uint32_t Regions::insert(Owned owned) {
  const std::lock_guard lock(mutex_);
  const size_t n = count_.load(std::memory_order_relaxed);
  if (n == kMaxRegions)
    throw Error(ErrorCode::kUsage,
                "more than " + std::to_string(kMaxRegions) + " registered buffers",
                "free some with acclMemFree or acclCommDeregister");
  const uint32_t id = nextId_++;
  size_t at = n;
  version_.fetch_add(1, std::memory_order_acq_rel);
  const auto move = [&](size_t to, uint64_t begin, uint64_t end, uint32_t who) {
    Slot& slot = (*slots_)[to];
    slot.begin.store(begin, std::memory_order_relaxed);
    slot.end.store(end, std::memory_order_relaxed);
    slot.id.store(who, std::memory_order_relaxed);
  };
  for (; at > 0 && (*slots_)[at - 1].begin.load(std::memory_order_relaxed) > owned.begin; --at) {
    const Slot& low = (*slots_)[at - 1];
    move(at, low.begin.load(std::memory_order_relaxed), low.end.load(std::memory_order_relaxed),
         low.id.load(std::memory_order_relaxed));
  }
  move(at, owned.begin, owned.begin + owned.bytes, id);
  count_.store(n + 1, std::memory_order_relaxed);
  version_.fetch_add(1, std::memory_order_acq_rel);
  owned_.emplace(id, std::move(owned));
  return id;
}

void Regions::eraseSlot(uint32_t id) {
  const size_t n = count_.load(std::memory_order_relaxed);
  size_t at = 0;
  while (at < n && (*slots_)[at].id.load(std::memory_order_relaxed) != id) ++at;
  if (at == n) return;
  version_.fetch_add(1, std::memory_order_acq_rel);
  for (; at + 1 < n; ++at) {
    const Slot& high = (*slots_)[at + 1];
    Slot& slot = (*slots_)[at];
    slot.begin.store(high.begin.load(std::memory_order_relaxed), std::memory_order_relaxed);
    slot.end.store(high.end.load(std::memory_order_relaxed), std::memory_order_relaxed);
    slot.id.store(high.id.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  count_.store(n - 1, std::memory_order_relaxed);
  version_.fetch_add(1, std::memory_order_acq_rel);
}

uint32_t Regions::idOf(const void* address, size_t bytes) const noexcept {
  const auto begin = reinterpret_cast<uint64_t>(address);
  for (;;) {
    const uint64_t before = version_.load(std::memory_order_acquire);
    size_t low = 0;
    size_t high = std::min(count_.load(std::memory_order_relaxed), kMaxRegions);
    while (low < high) {  // the first region that begins above the address
      const size_t middle = (low + high) / 2;
      if ((*slots_)[middle].begin.load(std::memory_order_acquire) <= begin)
        low = middle + 1;
      else
        high = middle;
    }
    uint32_t id = 0;
    if (low > 0 && begin + bytes <= (*slots_)[low - 1].end.load(std::memory_order_acquire))
      id = (*slots_)[low - 1].id.load(std::memory_order_acquire);
    if ((before & 1) == 0 && version_.load(std::memory_order_relaxed) == before) return id;
  }
}

void* Regions::allocate(size_t bytes) {
  const size_t size = roundUp(std::max<size_t>(bytes, 1), pageBytes());
  Owned owned;
  owned.fd = newSharedMemory(size, "acclMemAlloc");
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, owned.fd.get(), 0);
  if (at == MAP_FAILED) throw Error(ErrorCode::kSystem, "acclMemAlloc: mmap: " + reason());
  owned.begin = reinterpret_cast<uint64_t>(at);
  owned.bytes = size;
  try {
    insert(std::move(owned));
  } catch (...) {
    ::munmap(at, size);
    throw;
  }
  return at;
}

bool Regions::release(void* address) {
  Owned owned;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(owned_.begin(), owned_.end(), [&](const auto& entry) {
      return asPointer(entry.second.begin) == address && !entry.second.remapped;
    });
    if (found == owned_.end()) return false;
    eraseSlot(found->first);
    owned = std::move(found->second);
    owned_.erase(found);
  }
  ::munmap(address, owned.bytes);
  ::fallocate(owned.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(owned.bytes));
  return true;
}

uint32_t Regions::remap(void* address, size_t bytes) {
  const uint64_t begin = roundUp(reinterpret_cast<uint64_t>(address), pageBytes());
  const uint64_t end = (reinterpret_cast<uint64_t>(address) + bytes) / pageBytes() * pageBytes();
  if (begin >= end) return 0;
  if (const uint32_t known = idOf(asPointer(begin), end - begin)) return known;
  Owned owned;
  owned.begin = begin;
  owned.bytes = end - begin;
  owned.remapped = true;
  owned.fd = newSharedMemory(owned.bytes, "acclCommRegister");
  writeAll(owned.fd, asPointer(begin), owned.bytes);
  const int fd = owned.fd.get();
  const uint32_t id = insert(std::move(owned));
  if (::mmap(asPointer(begin), end - begin, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED) {
    const std::string why = reason();
    const std::lock_guard lock(mutex_);
    eraseSlot(id);
    owned_.erase(id);
    throw Error(ErrorCode::kSystem, "acclCommRegister: mmap: " + why);
  }
  return id;
}

bool Regions::unmap(uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = owned_.find(id);
  if (found == owned_.end() || !found->second.remapped) return false;
  eraseSlot(id);
  const bool done = makePrivate(found->second.begin, found->second.bytes);
  owned_.erase(found);
  return done;
}

RegionServerAddress Regions::serve() {
  const std::lock_guard lock(mutex_);
  if (server_.process != 0) return server_;
  RegionServerAddress address;
  uint64_t noise[2];
  if (::getrandom(noise, sizeof noise, 0) != sizeof noise ||
      ::getrandom(address.key.data(), address.key.size(), 0) !=
          static_cast<ssize_t>(address.key.size()))
    throw Error(ErrorCode::kSystem, "getrandom gave too few bytes");
  address.process = noise[0] | 1;
  const std::string name = "autoccl-" + std::to_string(::geteuid()) + "-" +
                           std::to_string(::getpid()) + "-" + std::to_string(noise[1]);
  std::copy(name.begin(), name.end(), address.name.begin());
  Fd listener = listenOn(name);
  startQuietThread("accl-regions", [this, socket = std::move(listener)] {
    serveForever(socket);
  }).detach();
  server_ = address;
  return server_;
}

void Regions::serveForever(const Fd& listener) {
  for (;;) {
    try {
      answer(acceptFrom(listener, nowNs() + 3'600'000'000'000));
    } catch (const Error&) {
      // Out of descriptors: the peer sees a closed connection and takes another path.
      const timespec pause{0, 1'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }
}

void Regions::answer(const Fd& connection) {
  RegionRequest request;
  if (!connection ||
      !receiveAll(connection, &request, sizeof request, nullptr, nowNs() + kRequestNs))
    return;
  RegionReply reply;
  Fd copy;
  {
    const std::lock_guard lock(mutex_);
    const auto found = owned_.find(request.id);
    if (request.key == server_.key && found != owned_.end()) {
      reply.begin = found->second.begin;
      reply.bytes = found->second.bytes;
      copy = Fd(::fcntl(found->second.fd.get(), F_DUPFD_CLOEXEC, 3));
    }
  }
  (void)sendAll(connection, &reply, sizeof reply, request.wantDescriptor ? copy.get() : -1,
                nowNs() + kRequestNs);
}

}  // namespace autoccl
