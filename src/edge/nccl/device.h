// The CUDA device that is current on this thread, for telling communicators of one process apart.
#pragma once

namespace autoccl::nccl {

/// -1 where there is no driver, or no current context. Uses the driver that the process has loaded
/// already; loads none.
[[nodiscard]] int currentDevice() noexcept;

}  // namespace autoccl::nccl
