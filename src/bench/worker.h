// A rank of a group under test: obeys the conductor's commands by calling one library.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/control.h"

namespace autoccl::bench {

/// The calls of one collective on this rank. Both pointers are the same where the collective works
/// in place (pattern.h). count is nBytes / 4; parts are count / nRanks elements; root is 0.
struct CallShape {
  Collective collective = Collective::kAllReduce;
  float* send = nullptr;
  float* receive = nullptr;
  size_t count = 0;
  size_t part = 0;
};

/// A library under test, seen from one rank: float32, sum. Methods throw Error for what the library
/// cannot do; the conductor reports that and goes on without it.
class Library {
 public:
  virtual ~Library() = default;
  /// Memory that the library prefers. Ordinary buffers come from the worker itself.
  [[nodiscard]] virtual void* allocate(size_t bytes);
  virtual void release(void* memory, size_t bytes) noexcept;
  /// Collective; before the calls of a command, and not timed.
  virtual void prepare(const Command&, const CallShape&) {}
  /// Collective; the thing that is timed.
  virtual void call(const CallShape&) = 0;
  /// After each call, not timed: for a call that returns before its work is done everywhere and
  /// whose inputs must not be written until then.
  virtual void settle() {}
  /// Where the last call left this rank's result.
  [[nodiscard]] virtual const float* result(const CallShape& call) { return call.receive; }
  /// The config of the last call, in the library's words.
  [[nodiscard]] virtual std::string configInEffect() { return ""; }
  /// kTune: nothing is left to learn.
  [[nodiscard]] virtual bool tuned() { return true; }
  /// kSpace: one config a line.
  [[nodiscard]] virtual std::string space(const Command&) { return ""; }
};

/// Who this worker is. `cores` are those it may run on.
struct Place {
  int rank = 0;
  int nRanks = 1;
};

/// Runs this thread on the rank's cores: an equal contiguous share of the allowed ones, or
/// core rank mod cores where ranks outnumber them. All contenders are placed by this one function.
void placeOnCores(const Place&);
/// The cores that this process may use, ascending.
[[nodiscard]] std::vector<int> allowedCores();

/// Obeys until the conductor says exit or is gone. Returns the process's exit status.
int serve(Control&, const Place&, Library&) noexcept;

/// For main(): opens the block named by the environment, or says on stderr what is missing and
/// returns nullptr.
[[nodiscard]] std::unique_ptr<ControlBlock> openControl() noexcept;
/// Rank and size from kRankVariable and kRanksVariable. Throws Error.
[[nodiscard]] Place placeFromEnvironment();

/// Makes the library under test, on a thread that already runs on the rank's cores. May throw.
using LibraryMaker = std::function<std::unique_ptr<Library>(Control&, const Place&)>;
/// The whole main() of a worker that takes its rank from the environment. Returns the process's
/// exit status; what fails is told on stderr after `program`.
int workerMain(const char* program, const LibraryMaker& make) noexcept;

}  // namespace autoccl::bench
