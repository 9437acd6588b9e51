// The GPU's entry points. Compiled by nvcc where there is one, to machine code and PTX.
#include "direct/kernels/entry_points.h"

namespace autoccl::direct {

#define ACCL_KERNEL(body, Call, Body, name, ...)                                          \
  extern "C" __global__ void __launch_bounds__(512)                                       \
      autoccl_##body##_##name(const __grid_constant__ Call call) {                        \
    const Lane lane{threadIdx.x, blockDim.x, blockIdx.x, gridDim.x};                      \
    Body<__VA_ARGS__>(lane, call).run();                                                  \
  }
#define ACCL_KERNELS_OF_NUMBER(name, ...) ACCL_DIRECT_REDUCING(ACCL_KERNEL, name, __VA_ARGS__)
#define ACCL_KERNELS_OF_WIDTH(name, ...) ACCL_DIRECT_MOVING(ACCL_KERNEL, name, __VA_ARGS__)

ACCL_DIRECT_NUMBERS(ACCL_KERNELS_OF_NUMBER)
ACCL_DIRECT_WIDTHS(ACCL_KERNELS_OF_WIDTH)

}  // namespace autoccl::direct
