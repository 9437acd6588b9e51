// Where a wrapped call goes: the library that would have got it without us.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>

#include "edge/preload/symbol_list.h"

namespace autoccl::preload {

/// A function and the object (library or program) that defines it.
struct Target {
  void* address = nullptr;
  const void* object = nullptr;  // where that object is loaded
};

/// Finds the function that `name` ("ncclAllReduce") of the code at `caller` means, among what is
/// loaded; loads nothing. In this order:
/// 1. behind us in the global scope: another interposer's ncclX, else libnccl's pncclX;
/// 2. in the caller's own scope, which finds a libnccl that came with RTLD_LOCAL (import torch);
/// 3. in a loaded libnccl.so* or librccl.so*;
/// 4. in any loaded object that defines it (NCCL linked into libtorch_cuda.so).
/// pncclX is preferred, since ncclX is weak; without it the next ncclX is taken. Thread-safe; takes
/// the loader's lock and none of ours. Source: nccl-internals, 5.1.
[[nodiscard]] Target findTarget(const char* name, const void* caller) noexcept;

/// The file that holds this address; "this program" for the program itself, empty if none does.
[[nodiscard]] std::string objectPath(const void* address);

/// The targets of all wrapped symbols, looked up once each.
///
/// Two libraries: when a caller's ncclX means another object than the first caller's did, the
/// process has two NCCLs. From then on nothing is remembered and every call is looked up by its
/// caller, so that each communicator's calls reach the library that made it. mixed() then keeps
/// tuning off. Thread-safe. Cost of a known target: one load.
class Targets {
 public:
  /// HOT. Null where no loaded library has it.
  [[nodiscard]] void* of(Symbol symbol, const void* caller) noexcept {
    void* known = known_[static_cast<size_t>(symbol)].load(std::memory_order_acquire);
    return known != nullptr ? known : lookUp(symbol, caller);
  }
  /// The same, asking the loader again: for the calls that make communicators, which every user of
  /// a second library makes first.
  [[nodiscard]] void* lookUp(Symbol symbol, const void* caller) noexcept;

  [[nodiscard]] bool mixed() const noexcept { return mixed_.load(); }
  /// An address in the library that the first call went to; null before.
  [[nodiscard]] const void* library() const noexcept { return library_.load(); }

 private:
  std::array<std::atomic<void*>, kSymbols> known_{};
  std::atomic<const void*> library_{nullptr};
  std::atomic<bool> mixed_{false};
};

}  // namespace autoccl::preload
