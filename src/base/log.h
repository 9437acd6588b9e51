// Lines for people on standard error, by AUTOCCL_LOG (off, warn, info, debug). Never on a hot path.
#pragma once

#include <string_view>

namespace autoccl {

enum class LogLevel { kOff, kWarn, kInfo, kDebug };

/// The level in force; read from the environment once. A bad value counts as warn and is told.
[[nodiscard]] LogLevel logLevel() noexcept;

/// Writes "autoccl: <line>\n" in one write, so that lines of several processes do not mix. Nothing
/// below the level. Never throws; what cannot be written is lost.
void logLine(LogLevel level, std::string_view line) noexcept;

}  // namespace autoccl
