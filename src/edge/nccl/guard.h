// The wall between us and NCCL: nothing that is thrown gets past it, nothing fails the user's call.
#pragma once

#include "edge/nccl/abi/common.h"

namespace autoccl::nccl {

/// Runs `work`; success whatever happens in it. What it had done so far stays done: callers write
/// into NCCL's memory last.
template <class Work>
Result guarded(Work&& work) noexcept {
  try {
    work();
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody to tell on a call's path
  }
  return Result::kSuccess;
}

}  // namespace autoccl::nccl
