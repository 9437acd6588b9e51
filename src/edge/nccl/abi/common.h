// What all plugin interfaces of NCCL share: results, numbers of functions, algorithms, protocols.
// Our own declaration of a binary interface; a test host and the plugins compile against the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace autoccl::nccl {

/// ncclResult_t. Anything but kSuccess from a tuner or profiler fails the user's call.
enum class Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,  // 2.14+
  kTimeout = 8      // 2.28+
};

/// ncclFunc_t: what a tuner is asked about (2.19+). Others never reach a tuner.
enum Func : int {
  kFuncBroadcast = 0,
  kFuncReduce = 1,
  kFuncAllGather = 2,
  kFuncReduceScatter = 3,
  kFuncAllReduce = 4
};
inline constexpr int kFuncs = 5;

/// Rows of the cost table. 6 rows up to 2.22, 7 (with PAT) since 2.23; indices never moved.
enum Algo : int {
  kAlgoUndefined = -1,
  kAlgoTree = 0,
  kAlgoRing = 1,
  kAlgoCollnetDirect = 2,
  kAlgoCollnetChain = 3,
  kAlgoNvls = 4,
  kAlgoNvlsTree = 5,
  kAlgoPat = 6
};
inline constexpr int kAlgos = 7;

/// Columns of the cost table.
enum Proto : int { kProtoUndefined = -1, kProtoLL = 0, kProtoLL128 = 1, kProtoSimple = 2 };
inline constexpr int kProtos = 3;

/// A cost table entry that is not possible (up to 2.30; from 2.31.2 it would win: never write it).
inline constexpr float kEntryIgnored = -1.0F;

enum class LogLevel : int { kNone = 0, kVersion = 1, kWarn = 2, kInfo = 3, kAbort = 4, kTrace = 5 };
/// Bits of a log line's subsystem: NCCL prints what NCCL_DEBUG_SUBSYS names.
enum LogSubsystem : unsigned long { kLogInit = 0x1, kLogTuning = 0x40, kLogEnv = 0x80 };

/// ncclDebugLogger_t. May be null: some hosts give none.
using Logger = void (*)(LogLevel level, unsigned long subsystems, const char* file, int line,
                        const char* format, ...);

static_assert(sizeof(Result) == 4 && sizeof(Func) == 4 && sizeof(LogLevel) == 4);
static_assert(sizeof(void*) == 8 && sizeof(size_t) == 8, "NCCL exists for 64-bit hosts only");

}  // namespace autoccl::nccl
