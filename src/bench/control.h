// The block of shared memory through which the conductor of `autoccl bench` drives one group of
// ranks, whatever library those ranks test.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/types.h"
#include "transport/wait.h"

namespace autoccl::bench {

inline constexpr int kMaxRanks = 64;
inline constexpr uint32_t kMaxIterations = 2048;
inline constexpr size_t kConfigBytes = 128;
inline constexpr size_t kTextBytes = 1u << 20;

/// Name of the environment variable that tells a worker where its block is. These three pass
/// between our own programs and are no settings, hence not named AUTOCCL_*.
inline constexpr const char* kControlVariable = "ACCL_BENCH_CONTROL";
/// Rank and group size of a worker that no launcher of its own numbers.
inline constexpr const char* kRankVariable = "ACCL_BENCH_RANK";
inline constexpr const char* kRanksVariable = "ACCL_BENCH_RANKS";

enum class CommandKind : uint32_t {
  kMeasure,  // `iterations` timed calls
  kTune,     // calls until the library says it is tuned, or until a limit
  kSpace,    // the configs the library offers for this task, into Control::text
  kExit
};

/// What runs beside the calls on the same cores (load.h has the shapes).
enum class LoadKind : uint32_t { kNone, kLight, kHeavy };

struct Command {
  CommandKind kind = CommandKind::kMeasure;
  Collective collective = Collective::kAllReduce;
  bool registered = false;  // buffers from the library's own allocator
  bool check = false;       // compare the last call's result, element by element
  LoadKind load = LoadKind::kNone;
  bool sleepyBarrier = false;
  uint32_t iterations = 1;
  uint32_t warmups = 0;  // calls before the timed ones
  uint32_t maxMs = 0;    // kTune: stop after this; kMeasure: stop early, 0 for never
  uint64_t bytes = 0;    // nBytes as NCCL counts them, a multiple of 4 x ranks
  std::array<char, kConfigBytes> config{};  // in a library's own words; "" is its default
};

/// One rank's answer. `error` is empty when the command was carried out.
struct RankReply {
  uint64_t wrong = 0;
  double loadGflops = 0;                    // of the compute load beside the calls
  uint32_t tuned = 0;                       // kTune: the library said so
  std::array<char, kConfigBytes> config{};  // in effect in the last call
  std::array<char, 512> error{};
};

/// Layout of the block. Zero is the valid first state, so a fresh memfd needs no constructor.
/// Written by the conductor before `command` is raised, by the ranks before `finished` is.
struct Control {
  uint32_t nRanks = 0;
  uint32_t cores = 0;
  pid_t conductor = 0;
  Flag attached;  // ranks that have mapped the block and set their library up
  Flag command;   // number of the command in `now`; idle ranks sleep on it in the kernel
  Flag finished;  // answers so far, over all commands
  Flag arrive;    // the two halves of the ranks' barrier
  Flag align;
  Flag idReady;  // `id` is written (a library's own rendezvous)
  std::array<char, 256> id{};
  Command now;
  uint32_t iterationsDone = 0;  // by rank 0; all ranks do as many
  uint32_t stopAt = 0;  // call number stopAt is the last; rank 0 lowers it, the conductor resets it
  std::array<RankReply, kMaxRanks> replies;
  uint32_t textBytes = 0;  // length of `text`, cut at kTextBytes
  alignas(64) std::array<char, kTextBytes> text{};
  std::array<std::array<int64_t, kMaxIterations>, kMaxRanks> callNs{};
};

/// A mapped Control. The conductor makes one on a memfd; a worker opens it by path. Nothing of it
/// has a name in a file system, so nothing stays behind after a kill. Throws Error.
class ControlBlock {
 public:
  ControlBlock(int nRanks, int cores);             // makes
  explicit ControlBlock(const std::string& path);  // opens; path() of the maker
  ~ControlBlock();
  ControlBlock(const ControlBlock&) = delete;
  ControlBlock& operator=(const ControlBlock&) = delete;

  Control* operator->() const noexcept { return control_; }
  Control& operator*() const noexcept { return *control_; }
  /// "/proc/PID/fd/N": open to processes of the same user while the maker lives.
  [[nodiscard]] std::string path() const;

 private:
  void map();
  int fd_ = -1;
  Control* control_ = nullptr;
};

/// Copies text into a fixed array, cut to fit, always terminated.
template <size_t N>
void setText(std::array<char, N>& to, std::string_view text) {
  const size_t n = text.size() < N - 1 ? text.size() : N - 1;
  text.copy(to.data(), n);
  to[n] = '\0';
}

[[nodiscard]] std::string_view toText(LoadKind) noexcept;  // "none", "light", "heavy"
[[nodiscard]] std::optional<LoadKind> loadFromText(std::string_view) noexcept;

/// True once the conductor is gone: a worker must end then.
[[nodiscard]] bool conductorGone(const Control& control) noexcept;

/// Lets all ranks go at nearly the same time. First everybody arrives, asleep in the kernel if
/// someone is late; then all, now awake, line up once more, spinning. Ranks that share a core yield
/// in both halves: a spinning or sleeping one would upset the scheduler's account of who had how
/// much of the core, and the library's own yields would pay for it. Under load, which would take a
/// yielded core for a whole slice, and where the command asks for it (Gloo's I/O threads share the
/// ranks' cores), both halves sleep. `round` counts from 1 on each rank alike. False: the conductor
/// is gone.
[[nodiscard]] bool barrier(Control& control, uint32_t round) noexcept;

}  // namespace autoccl::bench
