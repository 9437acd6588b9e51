// Marks functions that run on the GPU and, in the tests' double of the driver, on the host.
#pragma once

#if defined(__CUDACC__)
#define ACCL_BOTH __host__ __device__ __forceinline__
#else
#define ACCL_BOTH inline
#endif
#if defined(__CUDA_ARCH__)
#define ACCL_UNROLL _Pragma("unroll")
#else
#define ACCL_UNROLL
#endif
