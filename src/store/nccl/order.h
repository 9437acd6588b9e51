// NCCL's functions, algorithms and protocols in NCCL's own order, in the words of the model.
#pragma once

#include <algorithm>
#include <array>

#include "model/types.h"

namespace autoccl::nccl {

inline constexpr std::array<Collective, 5> kCollectiveOf = {
    Collective::kBroadcast, Collective::kReduce, Collective::kAllGather, Collective::kReduceScatter,
    Collective::kAllReduce};
inline constexpr std::array<Algorithm, 7> kAlgorithmOf = {
    Algorithm::kTree,         Algorithm::kRing, Algorithm::kCollnetDirect,
    Algorithm::kCollnetChain, Algorithm::kNvls, Algorithm::kNvlsTree,
    Algorithm::kPat};
inline constexpr std::array<Protocol, 3> kProtocolOf = {Protocol::kLL, Protocol::kLL128,
                                                        Protocol::kSimple};

/// Where a word stands in one of these; -1: NCCL does not have it.
template <class Word, size_t N>
[[nodiscard]] constexpr int indexIn(const std::array<Word, N>& order, Word word) noexcept {
  const auto found = std::find(order.begin(), order.end(), word);
  return found == order.end() ? -1 : static_cast<int>(found - order.begin());
}

}  // namespace autoccl::nccl
