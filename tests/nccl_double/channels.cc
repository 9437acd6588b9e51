#include "tests/nccl_double/channels.h"

#include <algorithm>
#include <array>

namespace autoccl::nccl_double {
namespace {

using namespace nccl;

constexpr int kWarp = 32;
constexpr int kMostThreads = 640;
constexpr int kSteps = 8;  // slots of a connection's buffer

size_t ceilDiv(size_t a, size_t b) {
  return (a + b - 1) / b;
}

bool switched(int algo) {
  return algo == kAlgoNvls || algo == kAlgoNvlsTree;
}

}  // namespace

Lanes lanesFor(const Machine& m, const Limits& limits, int algo, int proto, size_t nBytes) {
  int channels = m.nChannels;
  int threads = limits.maxThreads[algo][proto];
  const auto tooFew = [&] {
    return static_cast<int64_t>(nBytes) <
           int64_t{channels} * threads * limits.thresholds[algo][proto];
  };
  if (switched(algo)) {
    channels = algo == kAlgoNvls && m.nNodes > 1 ? std::min(limits.nvlsChannels, m.nChannels)
                                                 : limits.nvlsChannels;
  } else {
    while (channels > 1 && tooFew()) --channels;
    while (algo != kAlgoCollnetDirect && threads % 128 == 0 && tooFew()) threads /= 2;
  }
  if (proto == kProtoSimple && algo == kAlgoRing) threads += kWarp;
  threads = std::max(threads, 3 * kWarp);
  if (algo == kAlgoTree || algo == kAlgoPat) threads = kMostThreads;
  return {channels, threads / kWarp};
}

size_t grainOf(int proto) {
  constexpr std::array<size_t, kProtos> kGrains{16, 1920, 512};
  return kGrains[static_cast<size_t>(proto)];
}

ChunkBounds chunkFor(const Machine& m, const Limits& limits, Func func, int algo, int proto,
                     int channels, size_t nBytes) {
  const bool longRing =
      algo == kAlgoRing && proto == kProtoSimple &&
      (func == kFuncAllReduce || func == kFuncAllGather || func == kFuncReduceScatter);
  size_t chunk = static_cast<size_t>(limits.buffBytes[proto]) / kSteps * (longRing ? 4 : 1);
  if (proto == kProtoLL) chunk /= 2;
  if (proto == kProtoLL128) chunk = chunk / 16 * 15;
  const ChunkBounds full{chunk, chunk};
  ChunkBounds bounds = full;
  const auto halveWhile = [&](size_t parts, size_t least) {
    while (bounds.chunk > least && nBytes < parts * static_cast<size_t>(channels) * bounds.chunk)
      bounds.chunk /= 2;
  };
  if (switched(algo)) {
    bounds.chunk = std::min(bounds.chunk, static_cast<size_t>(limits.nvlsChunk));
    halveWhile(8 * static_cast<size_t>(m.nRanks / m.nNodes), 16 << 10);
  } else if (algo == kAlgoTree && proto == kProtoLL128) {
    halveWhile(64, 32 << 10);
  } else if (algo == kAlgoPat) {
    halveWhile(16, 64 << 10);
  }
  return bounds;
}

ChannelShares::ChannelShares(size_t minTraffic, size_t traffic, int asked, int maxChannels)
    : minTraffic_(minTraffic),
      share_(std::max(minTraffic, traffic / static_cast<size_t>(asked))),
      maxChannels_(maxChannels) {}

Part ChannelShares::take(size_t count, size_t elementBytes, size_t trafficPerByte) {
  // Work is dealt in cells of at least the least traffic, rounded to 16 bytes.
  const size_t cellBytes = ceilDiv(ceilDiv(minTraffic_, trafficPerByte), 16) * 16;
  const size_t cellTraffic = cellBytes * trafficPerByte;
  const size_t perCell = cellBytes / elementBytes;
  const size_t cells = ceilDiv(count * elementBytes, cellBytes);
  const size_t perChannel = std::min(cells, ceilDiv(share_, cellTraffic));
  const bool last = channel_ + 1 >= maxChannels_;
  const size_t room = share_ > used_ ? share_ - used_ : 0;
  size_t lo = last ? cells : std::min(cells, ceilDiv(room, cellTraffic));
  size_t rest = cells - lo;
  size_t mids = perChannel != 0 ? rest / perChannel : 0, mid = perChannel;
  size_t hi = perChannel != 0 ? rest % perChannel : 0;
  // More than there are channels: the rest is dealt evenly over what is left.
  const auto left = static_cast<size_t>(maxChannels_ - channel_ - 1);
  if (mids + (hi != 0 ? 1 : 0) > left && left > 0) {
    mids = left - 1;
    mid = rest / left;
    hi = rest - mid * mids;
  }
  if (lo == 0 && rest > 0) {  // the current channel is full: the next one is the first
    ++channel_;
    if (mids > 0) {
      lo = mid;
      --mids;
    } else {
      lo = hi;
      hi = 0;
    }
  }
  if (hi == 0 && mids > 0) {
    hi = mid;
    --mids;
  }
  Part part;
  part.first = channel_;
  part.channels = 1 + static_cast<int>(mids) + (hi != 0 ? 1 : 0);
  part.lo = lo * perCell;
  part.mid = mids != 0 ? mid * perCell : 0;
  part.hi = hi * perCell;
  (part.hi != 0 ? part.hi : part.lo) -= cells * perCell - count;
  if (part.channels > 1) {
    channel_ += part.channels - 1;
    used_ = (hi != 0 ? hi : mid) * cellTraffic;
  } else {
    used_ += lo * cellTraffic;
  }
  if (used_ >= share_ && channel_ + 1 < maxChannels_) {
    ++channel_;
    used_ = 0;
  }
  return part;
}

}  // namespace autoccl::nccl_double
