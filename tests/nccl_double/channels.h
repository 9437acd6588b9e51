// Channels, threads and chunks of a collective: what NCCL derives from the choice of a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "edge/nccl/abi/common.h"
#include "tests/nccl_double/cost.h"

namespace autoccl::nccl_double {

/// The parameters of a communicator that its variables set at init.
struct Limits {
  int nvlsChannels = 16;
  int maxThreads[nccl::kAlgos][nccl::kProtos] = {};
  int64_t thresholds[nccl::kAlgos][nccl::kProtos] = {};  // bytes per thread
  int64_t buffBytes[nccl::kProtos] = {};
  int64_t nvlsChunk = 128 << 10;
};

struct Lanes {
  int channels = 1;
  int warps = 1;
};
/// NCCL's rule of thumb: channels, then threads, are given up while each has too few bytes.
[[nodiscard]] Lanes lanesFor(const Machine& machine, const Limits& limits, int algo, int proto,
                             size_t nBytes);

/// Smallest unit of a chunk, in bytes.
[[nodiscard]] size_t grainOf(int proto);
/// The chunk that NCCL takes for a part of `nBytes`, and the most that its buffers hold.
struct ChunkBounds {
  size_t chunk = 0, most = 0;
};
[[nodiscard]] ChunkBounds chunkFor(const Machine& machine, const Limits& limits, nccl::Func func,
                                   int algo, int proto, int channels, size_t nBytes);

/// How the collectives of one plan are laid over the channels: each takes what its first channel
/// has left of its share, then whole shares, then a rest. Counts are elements.
struct Part {
  int first = 0;  // channel
  int channels = 0;
  size_t lo = 0, mid = 0, hi = 0;  // per channel of that kind; 0: none of it
};
class ChannelShares {
 public:
  /// traffic: bytes of all collectives; asked: their channels added up, not 0. A negative number
  /// counts as very many.
  ChannelShares(size_t minTraffic, size_t traffic, int asked, int maxChannels);
  Part take(size_t count, size_t elementBytes, size_t trafficPerByte);

 private:
  size_t minTraffic_, share_;
  int maxChannels_;
  int channel_ = 0;
  size_t used_ = 0;  // of the current channel's share
};

}  // namespace autoccl::nccl_double
