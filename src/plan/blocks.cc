#include "plan/blocks.h"

#include <algorithm>

namespace autoccl {
namespace {

constexpr uint64_t kLine = 64;
constexpr uint64_t kLinesWorthwhile = 4;  // below this many lines a part, even parts matter more

uint64_t roundUp(uint64_t x, uint64_t unit) noexcept {
  return (x + unit - 1) / unit * unit;
}

size_t sum(const size_t* counts, int n) noexcept {
  size_t total = 0;
  for (int i = 0; i < n; ++i) total += counts[i];
  return total;
}

}  // namespace

ByteRange part(uint64_t bytes, int i, int parts, size_t elementBytes) noexcept {
  const auto n = static_cast<uint64_t>(parts);
  const uint64_t unit = bytes >= kLinesWorthwhile * kLine * n ? kLine : elementBytes;
  const uint64_t each = roundUp((bytes + n - 1) / n, unit);
  const uint64_t from = std::min(bytes, static_cast<uint64_t>(i) * each);
  return {from, std::min(each, bytes - from)};
}

bool isOutput(Collective c, Seat t, int block) noexcept {
  switch (c) {
    case Collective::kReduceScatter:
    case Collective::kReduceScatterv:
      return block == t.me;
    case Collective::kReduce:
      return t.me == t.root;
    default:
      return true;
  }
}

ByteRange BlockMap::source(int b) const noexcept {
  const size_t e = shape_.elementBytes;
  const auto i = static_cast<uint64_t>(b);
  switch (shape_.collective) {
    case Collective::kAllGather:
      return {0, shape_.bytes};
    case Collective::kAllGatherv:
      return {0, shape_.counts[b] * e};
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return {i * shape_.bytes, shape_.bytes};
    case Collective::kReduceScatterv:
      return {sum(shape_.counts, b) * e, shape_.counts[b] * e};
    case Collective::kAllToAllv: {
      const AllToAllvRow& mine = shape_.rows[rank_];
      return {mine.sendDispls[b] * e, mine.sendCounts[b] * e};
    }
    default:
      return part(shape_.bytes, b, nBlocks_, e);
  }
}

ByteRange BlockMap::out(int b) const noexcept {
  const size_t e = shape_.elementBytes;
  const auto i = static_cast<uint64_t>(b);
  switch (shape_.collective) {
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return {i * shape_.bytes, shape_.bytes};
    case Collective::kAllGatherv:
      return {shape_.displs[b] * e, shape_.counts[b] * e};
    case Collective::kReduceScatter:
      return {0, shape_.bytes};
    case Collective::kReduceScatterv:
      return {0, shape_.counts[b] * e};
    case Collective::kAllToAllv: {
      const AllToAllvRow& mine = shape_.rows[rank_];
      return {mine.recvDispls[b] * e, mine.recvCounts[b] * e};
    }
    default:
      return part(shape_.bytes, b, nBlocks_, e);
  }
}

}  // namespace autoccl
