#include "engine/testing/sample_call.h"

#include <algorithm>
#include <cstring>

#include "engine/kernels.h"

namespace autoccl::testing {
namespace {

size_t unevenCount(const SampleCall& s, int block) {
  return s.count == 0 ? 0 : (static_cast<size_t>(block) * 7 + 3) % 5 * s.count;
}

size_t pairCount(const SampleCall& s, int from, int to) {
  return s.count == 0 ? 0
                      : (static_cast<size_t>(from) * 3 + static_cast<size_t>(to) * 5) % 4 * s.count;
}

size_t sum(const std::vector<size_t>& values) {
  size_t total = 0;
  for (const size_t v : values) total += v;
  return total;
}

size_t end(const std::vector<size_t>& counts, const std::vector<size_t>& displs) {
  size_t last = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    last = std::max(last, counts[i] ? displs[i] + counts[i] : 0);
  return last;
}

/// The small number that every type can hold exactly, as an element of the type.
void putNumber(DataType dtype, int value, std::byte* to) {
  const auto as = [&](auto v) { std::memcpy(to, &v, sizeof v); };
  constexpr uint16_t kHalf[] = {0x0000, 0x3c00, 0x4000}, kBrain[] = {0x0000, 0x3f80, 0x4000};
  constexpr uint8_t kE4m3[] = {0x00, 0x38, 0x40}, kE5m2[] = {0x00, 0x3c, 0x40};
  switch (dtype) {
    case DataType::kFloat16:
      return as(kHalf[value]);
    case DataType::kBfloat16:
      return as(kBrain[value]);
    case DataType::kFloat8e4m3:
      return as(kE4m3[value]);
    case DataType::kFloat8e5m2:
      return as(kE5m2[value]);
    case DataType::kFloat32:
      return as(static_cast<float>(value));
    case DataType::kFloat64:
      return as(static_cast<double>(value));
    default:
      std::memset(to, 0, sizeOf(dtype));
      *to = static_cast<std::byte>(value);
  }
}

}  // namespace

std::string SampleCall::text() const {
  return std::string(toText(collective)) + " " + std::to_string(count) + " " +
         std::string(toText(dtype)) + " " + std::string(toText(op)) + " root " +
         std::to_string(root) + " x" + std::to_string(nRanks) + (inPlace ? " in place" : "");
}

SampleCall::Arrays SampleCall::arrays(int rank) const {
  Arrays a;
  size_t sendAt = 0, recvAt = 0;
  for (int r = 0; r < nRanks; ++r) {
    const bool pairs = collective == Collective::kAllToAllv;
    a.sendCounts.push_back(pairs ? pairCount(*this, rank, r) : 0);
    a.recvCounts.push_back(pairs ? pairCount(*this, r, rank) : unevenCount(*this, r));
    a.sendDispls.push_back(sendAt);
    a.recvDispls.push_back(recvAt);
    sendAt += a.sendCounts.back() + 1;  // gaps of one element
    recvAt += a.recvCounts.back() + (collective == Collective::kReduceScatterv ? 0 : 1);
  }
  return a;
}

size_t SampleCall::sendCount(int rank) const {
  const auto n = static_cast<size_t>(nRanks);
  switch (collective) {
    case Collective::kBroadcast:
      return rank == root ? count : 0;
    case Collective::kScatter:
      return rank == root ? n * count : 0;
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return n * count;
    case Collective::kAllGatherv:
      return unevenCount(*this, rank);
    case Collective::kReduceScatterv:
      return sum(arrays(rank).recvCounts);
    case Collective::kAllToAllv:
      return end(arrays(rank).sendCounts, arrays(rank).sendDispls);
    default:
      return count;
  }
}

size_t SampleCall::recvCount(int rank) const {
  const auto n = static_cast<size_t>(nRanks);
  switch (collective) {
    case Collective::kReduce:
      return rank == root ? count : 0;
    case Collective::kGather:
      return rank == root ? n * count : 0;
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return n * count;
    case Collective::kReduceScatterv:
      return unevenCount(*this, rank);
    case Collective::kAllGatherv:
    case Collective::kAllToAllv:
      return end(arrays(rank).recvCounts, arrays(rank).recvDispls);
    default:
      return count;
  }
}

std::vector<std::byte> SampleCall::input(int rank) const {
  const size_t size = sizeOf(dtype), n = sendCount(rank);
  std::vector<std::byte> bytes(n * size);
  // 0 and 1, so that eight of them add up exactly in every type; 1 and 2 for products.
  const int least = op == ReduceOp::kProd ? 1 : 0;
  for (size_t i = 0; i < n; ++i)
    putNumber(
        dtype,
        least + static_cast<int>((i * 2654435761U + static_cast<size_t>(rank) * 40503U) >> 9 & 1),
        &bytes[i * size]);
  return bytes;
}

std::vector<std::byte> SampleCall::slice(int rank, size_t first, size_t n) const {
  const std::vector<std::byte> all = input(rank);
  const auto size = static_cast<ptrdiff_t>(sizeOf(dtype));
  const auto from = all.begin() + static_cast<ptrdiff_t>(first) * size;
  return {from, from + static_cast<ptrdiff_t>(n) * size};
}

std::vector<std::byte> SampleCall::combined(size_t first, size_t n) const {
  std::vector<std::vector<std::byte>> parts;
  std::vector<const void*> src;
  std::vector<double> scales;
  for (int r = 0; r < nRanks; ++r) {
    parts.push_back(slice(r, first, n));
    scales.push_back(r % 2 + 1);
  }
  src.reserve(parts.size());
  for (const auto& part : parts) src.push_back(part.data());
  std::vector<std::byte> out(n * sizeOf(dtype));
  void* dst = out.data();
  Reduction r;
  r.src = src.data();
  r.nSrc = nRanks;
  r.dst = &dst;
  r.nDst = 1;
  r.count = n;
  r.dtype = dtype;
  r.op = op;
  r.scale = op == ReduceOp::kScaledSum ? scales.data() : nullptr;
  r.divisor = op == ReduceOp::kAvg ? nRanks : 0;
  reduce(r);
  return out;
}

void SampleCall::put(std::vector<std::byte>& out, size_t at,
                     const std::vector<std::byte>& part) const {
  std::copy(part.begin(), part.end(), out.begin() + static_cast<ptrdiff_t>(at * sizeOf(dtype)));
}

std::vector<std::byte> SampleCall::expected(int rank, std::vector<std::byte> out) const {
  const auto me = static_cast<size_t>(rank);
  const Arrays mine = arrays(rank);
  size_t before = 0;
  switch (collective) {
    case Collective::kAllReduce:
      return combined(0, count);
    case Collective::kReduce:
      return rank == root ? combined(0, count) : out;
    case Collective::kBroadcast:
      return slice(root, 0, count);
    case Collective::kScatter:
      return slice(root, me * count, count);
    case Collective::kReduceScatter:
      return combined(me * count, count);
    case Collective::kReduceScatterv:
      for (int r = 0; r < rank; ++r) before += unevenCount(*this, r);
      return combined(before, unevenCount(*this, rank));
    case Collective::kGather:
      if (rank != root) return out;
      [[fallthrough]];
    case Collective::kAllGather:
      for (int r = 0; r < nRanks; ++r) put(out, static_cast<size_t>(r) * count, slice(r, 0, count));
      return out;
    case Collective::kAllToAll:
      for (int r = 0; r < nRanks; ++r)
        put(out, static_cast<size_t>(r) * count, slice(r, me * count, count));
      return out;
    case Collective::kAllGatherv:
      for (int r = 0; r < nRanks; ++r)
        put(out, mine.recvDispls[static_cast<size_t>(r)], slice(r, 0, unevenCount(*this, r)));
      return out;
    case Collective::kAllToAllv:
      for (int r = 0; r < nRanks; ++r)
        put(out, mine.recvDispls[static_cast<size_t>(r)],
            slice(r, arrays(r).sendDispls[me], pairCount(*this, r, rank)));
      return out;
    default:
      return out;
  }
}

bool SampleCall::canBeInPlace() const {
  return collective != Collective::kAllToAll && collective != Collective::kAllToAllv &&
         collective != Collective::kBarrier;
}

size_t SampleCall::recvInSend(int rank) const {
  const bool scatters = collective == Collective::kReduceScatter ||
                        (collective == Collective::kScatter && rank == root);
  if (scatters) return static_cast<size_t>(rank) * count;
  size_t before = 0;
  if (collective == Collective::kReduceScatterv)
    for (int r = 0; r < rank; ++r) before += unevenCount(*this, r);
  return before;
}

size_t SampleCall::sendInRecv(int rank) const {
  const bool gathers =
      collective == Collective::kAllGather || (collective == Collective::kGather && rank == root);
  if (gathers) return static_cast<size_t>(rank) * count;
  return collective == Collective::kAllGatherv ? arrays(rank).recvDispls[static_cast<size_t>(rank)]
                                               : 0;
}

}  // namespace autoccl::testing
