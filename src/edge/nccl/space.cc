#include "edge/nccl/space.h"

#include <algorithm>

#include "edge/nccl/chunk_rule.h"
#include "edge/nccl/variant_table.h"

namespace autoccl::nccl {
namespace {

constexpr std::array<uint16_t, 10> kChannelGrid{1, 2, 4, 8, 12, 16, 24, 32, 48, 64};
constexpr uint64_t kLargeBytes = 1 << 20;
constexpr double kFullChannels = 8;  // with fewer, a large message is slower in proportion

std::vector<uint16_t> channelsUpTo(const SpaceRules& r, int most) {
  std::vector<uint16_t> grid;
  for (const uint16_t n : kChannelGrid)
    if (n >= r.minChannels && n <= most) grid.push_back(n);
  if (grid.empty()) grid.push_back(static_cast<uint16_t>(most));
  return grid;
}

std::vector<uint16_t> channelsOf(int algo, const SpaceRules& r) {
  if (!r.channelsFree || r.tunerVersion < 2) return {0};
  if (!isSwitchBased(algo)) return channelsUpTo(r, r.maxChannels);
  const bool bounded = algo == kAlgoNvls && r.nNodes == 1 && r.nvlsChannels >= r.minChannels;
  if (!bounded) return {0};
  return channelsUpTo(r, std::min(r.nvlsChannels, r.maxChannels));
}

/// Up to what NCCL clamps to with its default buffers: 32 KiB of LL, 576000 B of LL128; Simple
/// 2 MiB in rings of the symmetric collectives, else 512 KiB.
std::vector<uint32_t> chunksOf(Pair pair, const Task& task, const SpaceRules& r) {
  if (r.tunerVersion < 6 || isSwitchBased(pair.algo)) return {0};
  const bool deep = pair.algo == kAlgoRing && !rooted(task.collective);
  const uint32_t most = pair.proto == kProtoLL      ? 32 << 10
                        : pair.proto == kProtoLL128 ? 576000
                        : deep                      ? 2 << 20
                                                    : 512 << 10;
  std::vector<uint32_t> grid;
  for (uint32_t c = most / 16; c <= most; c *= 2) {
    const auto whole = static_cast<uint32_t>(chunkFor(pair, c, c));
    if ((r.maxChunk == 0 || whole <= r.maxChunk) && (grid.empty() || whole > grid.back()))
      grid.push_back(whole);
  }
  if (grid.empty()) grid.push_back(0);
  return grid;
}

bool orderIsFree(Pair pair, const Task& task) {
  return !reduces(task.collective) || (task.nRanks == 2 && !isSwitchBased(pair.algo));
}

bool offers(const SpaceRules& r, Variant variant, Pair pair) {
  if (variant == Variant::kOwn) return r.tunerVersion > 0;
  return (r.variants & bitOf(variant)) != 0 && changes(variant, pair, r.tunerVersion);
}

/// A variant is believed to be a little worse than the user's communicator, a transport that NCCL
/// itself would not have taken much worse: so they are tried after it.
double doubtOf(uint8_t variant) {
  switch (static_cast<Variant>(variant)) {
    case Variant::kOwn:
      return 1;
    case Variant::kShm:
      return 2;
    case Variant::kNet:
      return 4;
    default:
      return 1.1;
  }
}

double thinness(const Config& c, const Task& task) {
  if (c.channels == 0 || task.bytes < kLargeBytes) return 1;
  return std::max(1.0, kFullChannels / c.channels);
}

double priorOf(const Config& c, const Task& task, const PairCosts& costs) {
  const auto us = [&](Pair p) {
    return double(costs[static_cast<size_t>(p.algo) * kProtos + static_cast<size_t>(p.proto)]);
  };
  if (const auto pair = pairOf(c))
    return std::max(us(*pair), 0.1) * thinness(c, task) * doubtOf(c.extra);
  double least = 0;
  for (const float cost : costs)
    if (cost >= 0 && (least == 0 || cost < least)) least = cost;
  return std::max(least, 0.1);
}

Pair leastOf(const PairCosts& costs) {
  Pair best;
  float bestUs = 0;
  for (int i = 0; i < kAlgos * kProtos; ++i) {
    const float us = costs[static_cast<size_t>(i)];
    if (us >= 0 && (best.algo < 0 || us < bestUs)) best = {i / kProtos, i % kProtos}, bestUs = us;
  }
  return best;
}

}  // namespace

PairSet pairsWithoutTable(int func) noexcept {
  const PairSet ring = bitOf({kAlgoRing, kProtoLL}) | bitOf({kAlgoRing, kProtoSimple});
  const PairSet tree = bitOf({kAlgoTree, kProtoLL}) | bitOf({kAlgoTree, kProtoSimple});
  return func == kFuncAllReduce ? ring | tree : ring;
}

Space spaceOf(const Task& task, const SpaceRules& rules, const std::optional<PairCosts>& costs) {
  Space space;
  space.task = task;
  space.fallback = kUntouched;
  space.extraName = "on";
  const Pair own = costs ? leastOf(*costs) : Pair{};
  space.fallbackClass = orderIsFree(own, task) ? 1 : 2;
  uint32_t otherClass = 3;  // each its own: none is like the default's
  const auto add = [&](Pair pair, Variant variant) {
    Subspace s;
    s.algorithm = algorithmOf(pair.algo);
    s.protocol = protocolOf(pair.proto);
    s.transport = Transport::kAuto;
    s.extra = static_cast<uint8_t>(variant);
    s.channels = channelsOf(pair.algo, rules);
    s.threads = {0};
    s.chunks = variant == Variant::kOwn ? chunksOf(pair, task, rules) : std::vector<uint32_t>{0};
    s.numericalClass = orderIsFree(pair, task) ? 1 : otherClass++;
    space.subspaces.push_back(std::move(s));
  };
  for (int v = 0; v < kVariants; ++v) {
    const auto variant = static_cast<Variant>(v);
    space.extraValues.emplace_back(toText(variant));
    for (int i = 0; i < kAlgos * kProtos; ++i) {
      const Pair pair{i / kProtos, i % kProtos};
      if (holds(task.variant, pair) && offers(rules, variant, pair)) add(pair, variant);
    }
  }
  space.valid = [set = task.variant, rules](const Config& c) {
    const auto pair = pairOf(c);
    return pair && holds(set, *pair) && offers(rules, static_cast<Variant>(c.extra), *pair);
  };
  if (costs)
    space.priorUs = [task, all = *costs](const Config& c) { return priorOf(c, task, all); };
  return space;
}

}  // namespace autoccl::nccl
