// NCCL's lines for people, by NCCL_DEBUG and NCCL_DEBUG_SUBSYS; on standard output, as NCCL does.
#pragma once

#include "edge/nccl/abi/common.h"

namespace autoccl::nccl_double {

enum class Level { kNone = 0, kVersion = 1, kWarn = 2, kInfo = 3 };
inline constexpr unsigned long kSubInit = 0x1, kSubTuning = 0x40, kSubEnv = 0x80, kSubColl = 0x2;

[[gnu::format(printf, 3, 4)]] void say(Level level, unsigned long subsystems, const char* format,
                                       ...);
/// A warning, which also becomes the answer of ncclGetLastError.
[[gnu::format(printf, 1, 2)]] void warn(const char* format, ...);
[[nodiscard]] const char* lastWarning();

/// The logger handed to plugins; null where NCCL_DOUBLE_NO_LOGGER is set.
[[nodiscard]] nccl::Logger pluginLogger();

}  // namespace autoccl::nccl_double
