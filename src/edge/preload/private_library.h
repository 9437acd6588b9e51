// A second NCCL of this process, with its own statics, so that it takes other variables.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "edge/preload/symbol_list.h"

namespace autoccl::preload {

/// What it does. The file of the library that the program uses is copied into memory that has a
/// name for the loader (memfd) and loaded from there, out of sight of the global scope: the loader
/// takes it for another library, since it is another file. What NCCL reads once in a process it
/// reads once more here. Calls that it makes by its own weak names come to our wrappers, which send
/// them back here (ofCaller).
/// Cost: the file's size in host memory, and on the GPU the kernels that are used.
/// Never unloaded: its threads may run until the process ends. Thread-safe.
class PrivateLibrary {
 public:
  /// A copy of the library that holds this address, one for each purpose (< kPurposes), made when
  /// it is first asked for. Throws Error where it is no libnccl of its own (linked into another
  /// object), or the kernel or the loader refuses.
  [[nodiscard]] static PrivateLibrary* open(const void* address, size_t purpose);
  /// The copy that this code is in; null for all other code. HOT while there is no copy: one load.
  [[nodiscard]] static PrivateLibrary* ofCaller(const void* caller) noexcept {
    return any_.load(std::memory_order_acquire) ? search(caller) : nullptr;
  }

  /// Null where the library lacks it.
  [[nodiscard]] void* of(Symbol symbol) noexcept;
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

 private:
  PrivateLibrary() = default;
  static PrivateLibrary* make(const void* address);
  static PrivateLibrary* search(const void* caller) noexcept;

  static constexpr size_t kPurposes = 32;
  static std::atomic<bool> any_;
  static std::array<std::atomic<PrivateLibrary*>, kPurposes> all_;

  void* handle_ = nullptr;
  const void* object_ = nullptr;  // where it is loaded
  size_t bytes_ = 0;              // of the file
  std::array<std::atomic<void*>, kSymbols> known_{};
};

}  // namespace autoccl::preload
