// What may be asked of NCCL for a task.
#pragma once

#include "edge/nccl/task_book.h"
#include "model/space.h"
#include "model/variant.h"

namespace autoccl::nccl {

/// What bounds the search on this communicator, alike on all ranks but for nvlsChannels, which the
/// leader alone reads.
struct SpaceRules {
  int tunerVersion = 0;  // of the interface in use, 1 to 6
  int nNodes = 1;
  int minChannels = 1;
  int maxChannels = 32;
  int nvlsChannels = 0;      // NCCL's own number for NVLS, 0: not known
  uint32_t maxChunk = 0;     // bytes; 0: no bound
  bool channelsFree = true;  // false: the user has fixed them
  VariantSet variants = 0;   // communicators that a call can also be run on
};

/// One subspace per possible pair (Task::variant). Channels: a grid up to maxChannels for Ring,
/// Tree and PAT, where NCCL clamps what is too much; for NVLS and CollNet NCCL's own, and below it
/// once it is known and there is one node. Threads: NCCL's own. Chunk: NCCL's own up to tuner v5, a
/// grid of whole grains with v6 for Ring, Tree and PAT. The default is kUntouched. Results are bit
/// for bit the default's where nothing is reduced and on two ranks (a sum of two does not depend on
/// the order); nothing else is promised. The prior is NCCL's own prediction, corrected by a rule of
/// thumb for few channels. A variant adds a subspace for each pair that runs otherwise on it;
/// without a tuner (version 0) variants are all there is.
[[nodiscard]] Space spaceOf(const Task& task, const SpaceRules& rules,
                            const std::optional<PairCosts>& costs);

/// Pairs that every NCCL before the cost table (2.19 to 2.21) can run whatever the machine: Ring
/// and, for AllReduce, Tree, with LL and Simple. LL128 is left out: it may corrupt data on some
/// fabrics, and only the cost table says where.
[[nodiscard]] PairSet pairsWithoutTable(int func) noexcept;

}  // namespace autoccl::nccl
