// The GPU engine's kernels as host functions, by the names of the GPU's entry points. A block is
// one thread; a grid's blocks run one after another.
#include <cstdlib>
#include <cstring>

#include "direct/kernels/entry_points.h"
#include "tests/cuda_double/kernels.h"

namespace autoccl::direct {
namespace {

template <class Body, class Call>
void* runGrid(unsigned blocks, void** parameters) {
  if (blocks == 0) {
    void* copy = std::malloc(sizeof(Call));
    if (copy != nullptr) std::memcpy(copy, parameters[0], sizeof(Call));
    return copy;
  }
  const Call& call = *static_cast<const Call*>(parameters[0]);
  for (unsigned b = 0; b < blocks; ++b) {
    const Lane lane{0, 1, b, blocks};
    Body(lane, call).run();
  }
  return nullptr;
}

#define ACCL_HOST_KERNEL(body, Call, Body, name, ...) \
  {"autoccl_" #body "_" #name, &runGrid<Body<__VA_ARGS__>, Call>},
#define ACCL_HOST_KERNELS_OF_NUMBER(name, ...) \
  ACCL_DIRECT_REDUCING(ACCL_HOST_KERNEL, name, __VA_ARGS__)
#define ACCL_HOST_KERNELS_OF_WIDTH(name, ...) \
  ACCL_DIRECT_MOVING(ACCL_HOST_KERNEL, name, __VA_ARGS__)

const cuda_double::NamedKernel kKernels[] = {ACCL_DIRECT_NUMBERS(
    ACCL_HOST_KERNELS_OF_NUMBER) ACCL_DIRECT_WIDTHS(ACCL_HOST_KERNELS_OF_WIDTH){nullptr, nullptr}};

}  // namespace
}  // namespace autoccl::direct

extern "C" __attribute__((visibility("default"))) const autoccl::cuda_double::NamedKernel*
cudaDoubleKernels() {
  return autoccl::direct::kKernels;
}
