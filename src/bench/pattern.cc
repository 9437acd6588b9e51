#include "bench/pattern.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace autoccl::bench {
namespace {

// A prime period: no chunk or slice of a power of two repeats it, so a misplaced one shows.
constexpr size_t kPeriod = 1021;

// value(rank, i) = base(i) + 3 rank + salt % 16. Sums of 64 ranks stay far below 2^24, hence exact.
float base(size_t i) noexcept {
  return static_cast<float>((i * 7) % kPeriod);
}
float shift(int rank, uint32_t salt) noexcept {
  return static_cast<float>(3 * rank) + static_cast<float>(salt % 16);
}

float value(int rank, uint32_t salt, size_t i) noexcept {
  return base(i) + shift(rank, salt);
}

float sumOver(int nRanks, uint32_t salt, size_t i) noexcept {
  const auto n = static_cast<float>(nRanks);
  const int rankSum = nRanks * (nRanks - 1) / 2;
  return n * base(i) + n * shift(0, salt) + static_cast<float>(3 * rankSum);
}

float expected(const Shape& s, size_t i) noexcept {
  const size_t block = s.count / static_cast<size_t>(s.nRanks);
  switch (s.collective) {
    case Collective::kAllGather:
    case Collective::kGather:
      return value(static_cast<int>(i / block), s.salt, i % block);
    case Collective::kReduceScatter:
      return sumOver(s.nRanks, s.salt, static_cast<size_t>(s.rank) * block + i);
    case Collective::kAllToAll:
      return value(static_cast<int>(i / block), s.salt,
                   static_cast<size_t>(s.rank) * block + i % block);
    case Collective::kScatter:
      return value(0, s.salt, static_cast<size_t>(s.rank) * block + i);
    case Collective::kBroadcast:
      return value(0, s.salt, i);
    default:
      return sumOver(s.nRanks, s.salt, i);
  }
}

}  // namespace

bool inPlace(Collective c) noexcept {
  return c == Collective::kAllReduce || c == Collective::kReduce || c == Collective::kBroadcast;
}

bool benchable(Collective c) noexcept {
  return c <= Collective::kScatter;
}

size_t sendCount(const Shape& s) noexcept {
  const bool part = s.collective == Collective::kAllGather || s.collective == Collective::kGather;
  if (part) return s.count / static_cast<size_t>(s.nRanks);
  const bool rootOnly =
      s.collective == Collective::kBroadcast || s.collective == Collective::kScatter;
  return rootOnly && s.rank != 0 ? 0 : s.count;
}

size_t receiveCount(const Shape& s) noexcept {
  const bool part =
      s.collective == Collective::kReduceScatter || s.collective == Collective::kScatter;
  if (part) return s.count / static_cast<size_t>(s.nRanks);
  const bool rootOnly = s.collective == Collective::kReduce || s.collective == Collective::kGather;
  return rootOnly && s.rank != 0 ? 0 : s.count;
}

void writeInput(const Shape& s, std::span<float> send) noexcept {
  std::array<float, kPeriod> table;
  const float add = shift(s.rank, s.salt);
  const size_t used = std::min(kPeriod, send.size());
  for (size_t i = 0; i < used; ++i) table[i] = base(i) + add;
  for (size_t at = 0; at < send.size(); at += kPeriod)
    std::memcpy(send.data() + at, table.data(),
                std::min(kPeriod, send.size() - at) * sizeof(float));
}

uint64_t countWrong(const Shape& s, std::span<const float> received) noexcept {
  uint64_t wrong = 0;
  for (size_t i = 0; i < received.size(); ++i) wrong += received[i] != expected(s, i);
  return wrong;
}

}  // namespace autoccl::bench
