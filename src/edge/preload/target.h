// Where a wrapped call goes: the library that would have got it without us.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
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
/// Two libraries: a target that is remembered holds only for callers (the objects their code is in)
/// that were seen to mean the same library as the first; another copy of NCCL calls us too, by its
/// own weak names. Once a caller means another library, the process has two: nothing is remembered
/// any more and every call is looked up by its caller, so that each reaches the library it would
/// have reached without us. mixed() then keeps tuning off.
/// Thread-safe. Cost of a known target: three loads and a comparison.
class Targets {
 public:
  /// HOT. Null where no loaded library has it.
  [[nodiscard]] void* of(Symbol symbol, const void* caller) noexcept {
    void* known = known_[static_cast<size_t>(symbol)].load(std::memory_order_acquire);
    return known != nullptr && meansFirst(caller) ? known : lookUp(symbol, caller);
  }
  /// Asks the loader.
  [[nodiscard]] void* lookUp(Symbol symbol, const void* caller) noexcept;

  [[nodiscard]] bool mixed() const noexcept { return mixed_.load(std::memory_order_relaxed); }
  /// An address in the library that the first call went to; null before.
  [[nodiscard]] const void* library() const noexcept { return library_.load(); }

 private:
  static constexpr size_t kCallers = 8;  // objects that call NCCL; those beyond are looked up
  struct Caller {
    std::atomic<uintptr_t> begin{0};
    std::atomic<uintptr_t> size{0};  // 0: empty
  };

  [[nodiscard]] bool meansFirst(const void* caller) const noexcept {
    const auto at = reinterpret_cast<uintptr_t>(caller);
    for (const Caller& c : callers_) {
      const uintptr_t size = c.size.load(std::memory_order_acquire);
      if (size == 0) return false;
      if (at - c.begin.load(std::memory_order_relaxed) < size) return true;
    }
    return false;
  }
  void remember(const void* caller) noexcept;

  std::array<std::atomic<void*>, kSymbols> known_{};
  std::array<Caller, kCallers> callers_{};
  std::atomic<size_t> nCallers_{0};
  std::atomic<const void*> library_{nullptr};
  std::atomic<bool> mixed_{false};
};

}  // namespace autoccl::preload
