// Device memory of the driver's double: shared memory behind descriptors, so that it can be
// exported to other processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/cuda_double/driver_api.h"

namespace autoccl::cuda_double {

/// 0 when there is no memory.
[[nodiscard]] CUdeviceptr allocate(size_t bytes);
/// False for what is no allocation's (or mapping's) beginning.
bool release(CUdeviceptr address);
/// Gives out and opens handles: a process's own handle is refused, as CUDA does.
[[nodiscard]] CUresult exportHandle(CUipcMemHandle* handle, CUdeviceptr address);
[[nodiscard]] CUresult openHandle(CUdeviceptr* address, const CUipcMemHandle& handle);
/// The allocation or mapping that holds the address.
[[nodiscard]] bool rangeOf(CUdeviceptr address, CUdeviceptr* base, size_t* bytes);

}  // namespace autoccl::cuda_double
