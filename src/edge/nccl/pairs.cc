#include "edge/nccl/pairs.h"

#include <array>

namespace autoccl::nccl {
namespace {

struct AlgoWord {
  Algorithm word;
  std::string_view name;  // the profiler's
};
constexpr std::array<AlgoWord, kAlgos> kAlgoWords{{{Algorithm::kTree, "TREE"},
                                                   {Algorithm::kRing, "RING"},
                                                   {Algorithm::kCollnetDirect, "COLLNET_DIRECT"},
                                                   {Algorithm::kCollnetChain, "COLLNET_CHAIN"},
                                                   {Algorithm::kNvls, "NVLS"},
                                                   {Algorithm::kNvlsTree, "NVLS_TREE"},
                                                   {Algorithm::kPat, "PAT"}}};
struct ProtoWord {
  Protocol word;
  std::string_view name;
};
constexpr std::array<ProtoWord, kProtos> kProtoWords{
    {{Protocol::kLL, "LL"}, {Protocol::kLL128, "LL128"}, {Protocol::kSimple, "SIMPLE"}}};

struct FuncWord {
  Collective word;
  std::string_view name;
};
constexpr std::array<FuncWord, kFuncs> kFuncWords{{{Collective::kBroadcast, "Broadcast"},
                                                   {Collective::kReduce, "Reduce"},
                                                   {Collective::kAllGather, "AllGather"},
                                                   {Collective::kReduceScatter, "ReduceScatter"},
                                                   {Collective::kAllReduce, "AllReduce"}}};

struct TypeWord {
  std::string_view name;
  uint64_t bytes;
};
constexpr std::array<TypeWord, 12> kTypeWords{{{"ncclInt8", 1},
                                               {"ncclUint8", 1},
                                               {"ncclInt32", 4},
                                               {"ncclUint32", 4},
                                               {"ncclInt64", 8},
                                               {"ncclUint64", 8},
                                               {"ncclFloat16", 2},
                                               {"ncclFloat32", 4},
                                               {"ncclFloat64", 8},
                                               {"ncclBfloat16", 2},
                                               {"ncclFloat8e4m3", 1},
                                               {"ncclFloat8e5m2", 1}}};

template <class Words>
int indexNamed(const Words& words, const char* name) noexcept {
  if (name == nullptr) return -1;
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].name == name) return static_cast<int>(i);
  return -1;
}

template <class Words, class Word>
int indexOf(const Words& words, Word word) noexcept {
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].word == word) return static_cast<int>(i);
  return -1;
}

std::optional<Pair> whole(Pair pair) noexcept {
  if (pair.algo < 0 || pair.proto < 0) return std::nullopt;
  return pair;
}

}  // namespace

Algorithm algorithmOf(int algo) noexcept {
  return kAlgoWords[static_cast<size_t>(algo)].word;
}

Protocol protocolOf(int proto) noexcept {
  return kProtoWords[static_cast<size_t>(proto)].word;
}

std::optional<Pair> pairOf(const Config& c) noexcept {
  return whole({indexOf(kAlgoWords, c.algorithm), indexOf(kProtoWords, c.protocol)});
}

std::optional<Pair> pairNamed(const char* algo, const char* proto) noexcept {
  return whole({indexNamed(kAlgoWords, algo), indexNamed(kProtoWords, proto)});
}

Config configOf(Pair pair) noexcept {
  return {algorithmOf(pair.algo), protocolOf(pair.proto), Transport::kAuto, 0, 0, 0, 0, 0};
}

std::optional<Collective> collectiveOf(int func) noexcept {
  if (func < 0 || func >= kFuncs) return std::nullopt;
  return kFuncWords[static_cast<size_t>(func)].word;
}

int funcNamed(const char* name) noexcept {
  return indexNamed(kFuncWords, name);
}

uint64_t elementBytes(const char* dtype) noexcept {
  const int at = indexNamed(kTypeWords, dtype);
  return at < 0 ? 0 : kTypeWords[static_cast<size_t>(at)].bytes;
}

uint64_t tunerBytes(int func, uint64_t count, uint64_t element, int nRanks) noexcept {
  const bool perRank = func == kFuncAllGather || func == kFuncReduceScatter;
  return count * element * (perRank ? static_cast<uint64_t>(nRanks) : 1);
}

}  // namespace autoccl::nccl
