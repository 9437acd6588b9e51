// How the driver's double comes by kernels: any image stands for the table of host functions in
// libdirect_kernels.so beside the double itself.
#pragma once

namespace autoccl::cuda_double {

/// Runs a whole grid; parameters as cuLaunchKernel's, a single struct. Of no blocks: gives a copy
/// of the parameter, malloc'ed, since a launch outlives its caller's; else null.
using HostKernel = void* (*)(unsigned blocks, void** parameters);
struct NamedKernel {
  const char* name;
  HostKernel run;
};

}  // namespace autoccl::cuda_double

/// Ends with a name that is null.
extern "C" const autoccl::cuda_double::NamedKernel* cudaDoubleKernels();
