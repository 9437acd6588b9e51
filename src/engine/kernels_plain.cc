// The plain variant: 16-byte vectors, which every x86-64 and AArch64 processor has.
#include "engine/kernels_loop.h"
#include "engine/kernels_table.h"
#include "engine/kernels_x86.h"

namespace autoccl {
namespace {

#if defined(__x86_64__)
struct Plain : kernels::X86Isa<kernels::BaseIsa<16>> {};
#else
struct Plain : kernels::BaseIsa<16> {};
#endif

constexpr KernelTable kTable{"plain", kernels::reduceByType<Plain>, kernels::streamCopy<Plain>};

}  // namespace

const KernelTable* plainKernels() noexcept {
  return &kTable;
}

}  // namespace autoccl
