// How the exported functions are declared: ncclX weak, pncclX strong, as libnccl exports them.
// Calls from one to another go through the weak name, so an interposer is entered again.
#pragma once

#include "tests/nccl_double/nccl.h"

#define NCCL_DOUBLE_EXPORT __attribute__((visibility("default")))

/// Begins the definition of ncclX and makes pncclX the same function.
#define NCCL_DOUBLE_API(result, name, ...)                           \
  extern "C" NCCL_DOUBLE_EXPORT __attribute__((alias("nccl" #name))) \
  result pnccl##name(__VA_ARGS__);                                   \
  extern "C" NCCL_DOUBLE_EXPORT __attribute__((weak)) result nccl##name(__VA_ARGS__)
