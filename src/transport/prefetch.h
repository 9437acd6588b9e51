// A hint to the processor.
#pragma once

namespace autoccl {

/// Asks for a cache line to write on, and goes on: a later store to it need not wait for the other
/// cores that have read it. No effect on what any core sees. A processor without the instruction
/// takes it for a no-op.
inline void ownSoon(const void* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" ::"m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1, 3);
#endif
}

}  // namespace autoccl
