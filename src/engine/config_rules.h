// Which configs the engine can run, which it runs untouched, and which path is in effect once the
// kinds of all buffers are known. Pure functions of values equal on all ranks.
#pragma once

#include <cstdint>
#include <string>

#include "engine/call.h"
#include "engine/layout.h"
#include "model/space.h"

namespace autoccl {

/// What the entries of all ranks say together.
struct Kinds {
  uint64_t nBytes = 0;
  int nRanks = 2;
  bool sendShared = true;  // every send buffer can be reached by load and store
  bool recvShared = true;
  bool inPlace = false;  // on some rank
  bool cma = false;      // permitted between all ranks
};

/// A direct path once the kinds are known, and the protocol of a step plan: a zero config where
/// memory is not shared becomes cma, or staged where that is refused or slower.
[[nodiscard]] Config configInEffect(const Config& asked, Collective collective,
                                    const Kinds& kinds) noexcept;

/// True if the call's data go in beside the entries: asked for, or a zero config whose buffers were
/// ordinary the last time.
[[nodiscard]] bool runsSmall(const Config& asked, const CallShape& shape, uint64_t nBytes,
                             bool ordinaryLast) noexcept;
/// The config in effect of such a call.
[[nodiscard]] Config smallConfig(const Config& asked) noexcept;

/// What a communicator's ranks have to work with; equal on all of them.
struct Host {
  int nRanks = 1;
  int cpus = 1;  // that the ranks may use together
  bool cma = false;
  size_t stageBytes = 0;                  // of one rank
  int maxChannels = 16, maxThreads = 16;  // AUTOCCL_MAX_CHANNELS, _THREADS, _CHUNK
  uint32_t maxChunk = 4u << 20;
  int wait = -1;  // AUTOCCL_WAIT as a WaitPolicy; -1: by ranks per CPU

  [[nodiscard]] bool crowded() const noexcept { return nRanks > cpus; }
};

/// The nearest config that the segment and the limits allow.
[[nodiscard]] Config clampConfig(const Config& asked, const Host& host) noexcept;

/// What the engine does untouched.
[[nodiscard]] Config defaultConfig(const Task& task, const Host& host) noexcept;

/// Microseconds by rule of thumb: only good for an order of trials.
[[nodiscard]] double priorUs(const Config& config, const Task& task, const Host& host) noexcept;

/// The space of a task.
[[nodiscard]] Space spaceOf(const Task& task, const Host& host);

/// True if the engine can run it for this collective.
[[nodiscard]] bool canRun(const Config& config, Collective collective, const Host& host);

/// Throws Error unless the engine can run it for some collective.
void checkConfig(const Config& config, const Host& host);

/// A sentence on two ranks' terms that should be alike.
[[nodiscard]] std::string disagreement(const Call& call, const Terms& mine, const Terms& theirs,
                                       int myRank, int theirRank, uint32_t number);

}  // namespace autoccl
