// What the plugins tell the interposer, and the counts for the line at exit.
#pragma once

namespace autoccl::nccl {

/// Puts our functions where the interposer looks for them (identity.h); idempotent.
void announcePlugins() noexcept;

/// HOT: one relaxed add. `why` is static text.
void countTuned() noexcept;
void countUntouched(const char* why) noexcept;

}  // namespace autoccl::nccl
