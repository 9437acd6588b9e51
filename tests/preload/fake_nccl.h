// A libnccl.so.2 that moves nothing: it says which of its functions was called, from inside the
// call.
#pragma once

#include "edge/preload/nccl_types.h"

namespace autoccl::preload {

/// Called at the begin of each function of the fake, with its strong name.
using FakeHook = void (*)(const char* function);

/// dlsym'ed by tests. Sets the hook, and what every later call returns.
using SetFakeHook = void (*)(FakeHook hook, int result);

}  // namespace autoccl::preload
