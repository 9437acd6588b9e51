// One point of the search: <A, P, T, NC, NT, C> and the engine's named extra parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/types.h"

namespace autoccl {

/// How one call is to be carried out. 16 bytes, trivially copyable, compared as a whole.
/// `extra` is an index into the engine's list of values for its extra parameter: the CPU engine's
/// wait policy, or, with kAuto, the communicator it runs on (model/variant.h).
/// An engine that picks the transport itself (kAuto) may also pick channels, threads and chunk:
/// there 0 stands for its own choice, "auto" in text.
struct Config {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  Transport transport = Transport::kShm;
  uint8_t extra = 0;
  uint16_t channels = 1;  // NC: parallel lanes of the work
  uint16_t threads = 1;   // NT: workers in a lane
  uint32_t chunk = 0;     // C: bytes that one step moves
  uint32_t reserved = 0;

  friend bool operator==(const Config&, const Config&) = default;
  /// Order for maps and tie breaks only: subspace first, then channels, threads, chunk.
  friend auto operator<=>(const Config&, const Config&) = default;  // NOLINT(modernize-use-nullptr)
};
static_assert(sizeof(Config) == 16);

/// Nothing asked of the engine: the default of one that does not tell what its own choice is.
inline constexpr Config kUntouched{
    Algorithm::kUntouched, Protocol::kSimple, Transport::kAuto, 0, 0, 0, 0, 0};
/// True where every word is in its range: what a frame, a file or a proposal may hold.
[[nodiscard]] bool wellFormed(const Config& config) noexcept;

/// The CPU engine's extra parameter: what a rank does while it waits.
enum class WaitPolicy : uint8_t {
  kSpin,   // spin without end
  kYield,  // a short spin, then sched_yield
  kFutex   // a short spin, then sleep in the kernel until woken
};
inline constexpr int kWaitPolicies = 3;
[[nodiscard]] std::string_view toText(WaitPolicy) noexcept;  // "spin", "yield", "futex"
template <>
[[nodiscard]] std::optional<WaitPolicy> fromText(std::string_view) noexcept;

/// "twoshot/zero/shm nc=1 nt=1 c=64K wait=futex", "ring/ll128/auto nc=8 nt=auto c=auto",
/// "ring/simple/auto nc=8 nt=auto c=auto on=large-buffers", "untouched". parseConfig reads what
/// toText writes; fields after the subspace may be left out or reordered. Throws Error naming the
/// field and the allowed values.
[[nodiscard]] std::string toText(const Config&);
[[nodiscard]] Config parseConfig(std::string_view text);

/// Sizes for people: "64K", "1M", "1536"; exact powers of 1024 where the value divides.
[[nodiscard]] std::string bytesText(uint64_t bytes);
/// Reads "64K", "64KiB", "1M", "2G", "123" (bytes). Throws Error that names `argument`.
[[nodiscard]] uint64_t parseBytes(std::string_view text, std::string_view argument);

}  // namespace autoccl
