// Memory behind a descriptor (memfd): no name, nothing in /dev/shm, gone with its last user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/fd.h"

namespace autoccl {

/// A new descriptor of `bytes` of zeroed memory. Throws Error with the bytes needed and available
/// and what to change, before anything is touched. `purpose` enters the message.
[[nodiscard]] Fd newSharedMemory(size_t bytes, const std::string& purpose);

/// Bytes that new shared memory may take: the smaller of free memory (MemAvailable) and what the
/// process's cgroup has left.
[[nodiscard]] uint64_t availableBytes();

/// A mapping of a descriptor's memory, unmapped when it goes. Move-only.
class Mapping {
 public:
  Mapping() noexcept = default;
  /// Throws Error. `populate` touches every page now, so that no call pays for it.
  Mapping(const Fd& fd, size_t bytes, bool populate);
  /// Private memory of this process that takes nothing until it is touched. Throws Error.
  [[nodiscard]] static Mapping reserve(size_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] size_t size() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

[[nodiscard]] size_t pageBytes() noexcept;
[[nodiscard]] inline size_t roundUp(size_t value, size_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

}  // namespace autoccl
