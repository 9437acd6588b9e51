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
  bool sendShared = true;  // every send buffer can be reached by load and store
  bool recvShared = true;
  bool inPlace = false;    // on some rank
  bool cma = false;        // permitted between all ranks
};

/// The path of the bodies: a zero config where memory is not shared becomes cma, or staged where
/// that is refused or slower.
[[nodiscard]] Config configInEffect(const Config& asked, Collective collective, const Kinds& kinds) noexcept;

/// True if the call's data go in beside the entries: asked for, or a zero config whose buffers were
/// ordinary the last time.
[[nodiscard]] bool runsSmall(const Config& asked, const Call& call, int nRanks, bool ordinaryLast) noexcept;
/// The config in effect of such a call.
[[nodiscard]] Config smallConfig(const Config& asked) noexcept;

/// What the engine does untouched. `crowded`: more ranks than CPUs.
[[nodiscard]] Config defaultConfig(const Task& task, bool crowded) noexcept;

/// The space of a task; `cma` where it is permitted, `cpus` those of this host that all ranks share.
[[nodiscard]] Space spaceOf(const Task& task, bool crowded, bool cma, const Layout& layout);

/// Throws Error unless the engine can run it for some collective.
void checkConfig(const Config& config, const Layout& layout, int nRanks);

/// A sentence on two entries that should be alike.
[[nodiscard]] std::string disagreement(const Call& call, const Entry& mine, const Entry& theirs, int myRank,
                                       int theirRank, uint32_t number);

}  // namespace autoccl
