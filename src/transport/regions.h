// Memory of this process that other processes of the host can map: what acclMemAlloc gives and what
// acclCommRegister moves onto shared pages.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "transport/shared_memory.h"

namespace autoccl {

/// Where a peer finds a region's descriptor: the owner's server.
struct RegionServerAddress {
  std::array<char, 96> name{};  // abstract socket
  std::array<uint8_t, 16> key{};
  uint64_t process = 0;  // random, one per process, never 0
};

/// The registry of this process. Regions have ids that are never used twice.
/// idOf is HOT: no lock, allocation or system call (a sequence lock over a sorted array);
/// everything else takes a mutex. Thread-safe. After fork the child starts with an empty server and
/// cannot serve its parent's regions; remapped pages become private copies there.
class Regions {
 public:
  static Regions& ofProcess();

  /// Zeroed, page-aligned memory of its own descriptor. Throws Error.
  void* allocate(size_t bytes);
  /// Gives back what allocate gave; its pages return to the system at once even while peers still
  /// have it mapped. False: not ours.
  bool release(void* address);

  /// Moves the whole pages inside [address, address + bytes) onto shared memory, in place and with
  /// their contents. The pages must be private, readable and writable, and no thread may store into
  /// them during this call. Returns the region's id, 0 if there is no whole page inside. Throws
  /// Error. Cost: one copy of the bytes.
  uint32_t remap(void* address, size_t bytes);
  /// Makes the pages private again. To be called before they are freed. False: no such region.
  bool unmap(uint32_t id);

  /// The region that holds all of [address, address + bytes), or 0. HOT.
  [[nodiscard]] uint32_t idOf(const void* address, size_t bytes) const noexcept;

  /// Starts the server on first use. Throws Error.
  RegionServerAddress serve();

 private:
  static constexpr size_t kMaxRegions = 16384;
  struct Slot {
    std::atomic<uint64_t> begin{0}, end{0};
    std::atomic<uint32_t> id{0};
  };
  struct Owned {
    Fd fd;
    uint64_t begin = 0;
    size_t bytes = 0;
    bool remapped = false;
  };

  Regions();
  uint32_t insert(Owned owned);
  void eraseSlot(uint32_t id);
  void serveForever(const Fd& listener);
  void answer(const Fd& connection);
  void forgetInChild() noexcept;

  mutable std::atomic<uint64_t> version_{0};  // odd while the array changes
  std::atomic<size_t> count_{0};
  std::unique_ptr<std::array<Slot, kMaxRegions>> slots_;  // ascending by begin

  std::mutex mutex_;
  uint32_t nextId_ = 1;
  std::unordered_map<uint32_t, Owned> owned_;
  RegionServerAddress server_;
};

/// What a peer's region looks like from here.
struct PeerRegion {
  std::byte* local = nullptr;  // where it is mapped in this process
  uint64_t ownerBegin = 0;
  size_t bytes = 0;
};

/// Maps the region of another process, once per process for all communicators; null if the owner is
/// gone or the region is. Also drops mappings whose owner freed them. Not hot: a socket round trip.
[[nodiscard]] std::shared_ptr<const PeerRegion> mapPeerRegion(const RegionServerAddress& owner,
                                                              uint32_t id);

}  // namespace autoccl
