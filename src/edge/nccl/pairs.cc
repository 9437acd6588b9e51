#include "edge/nccl/pairs.h"

#include <algorithm>
#include <array>
#include <span>

#include "store/nccl/order.h"

namespace autoccl::nccl {
namespace {

// The profiler's names, in NCCL's order.
constexpr std::array<std::string_view, kAlgos> kAlgoNames{
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::array<std::string_view, kProtos> kProtoNames{"LL", "LL128", "SIMPLE"};
constexpr std::array<std::string_view, kFuncs> kFuncNames{"Broadcast", "Reduce", "AllGather",
                                                          "ReduceScatter", "AllReduce"};
static_assert(kAlgos == kAlgorithmOf.size() && kProtos == kProtocolOf.size() &&
              kFuncs == kCollectiveOf.size());

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

int indexNamed(std::span<const std::string_view> names, const char* name) noexcept {
  if (name == nullptr) return -1;
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

std::optional<Pair> whole(Pair pair) noexcept {
  if (pair.algo < 0 || pair.proto < 0) return std::nullopt;
  return pair;
}

}  // namespace

Algorithm algorithmOf(int algo) noexcept {
  return kAlgorithmOf[static_cast<size_t>(algo)];
}

Protocol protocolOf(int proto) noexcept {
  return kProtocolOf[static_cast<size_t>(proto)];
}

std::optional<Pair> pairOf(const Config& c) noexcept {
  return whole({indexIn(kAlgorithmOf, c.algorithm), indexIn(kProtocolOf, c.protocol)});
}

std::optional<Pair> pairNamed(const char* algo, const char* proto) noexcept {
  return whole({indexNamed(kAlgoNames, algo), indexNamed(kProtoNames, proto)});
}

Config configOf(Pair pair) noexcept {
  return {algorithmOf(pair.algo), protocolOf(pair.proto), Transport::kAuto, 0, 0, 0, 0, 0};
}

std::optional<Collective> collectiveOf(int func) noexcept {
  if (func < 0 || func >= kFuncs) return std::nullopt;
  return kCollectiveOf[static_cast<size_t>(func)];
}

int funcNamed(const char* name) noexcept {
  return indexNamed(kFuncNames, name);
}

uint64_t elementBytes(const char* dtype) noexcept {
  for (const TypeWord& type : kTypeWords)
    if (dtype != nullptr && type.name == dtype) return type.bytes;
  return 0;
}

uint64_t tunerBytes(int func, uint64_t count, uint64_t element, int nRanks) noexcept {
  const bool perRank = func == kFuncAllGather || func == kFuncReduceScatter;
  return count * element * (perRank ? static_cast<uint64_t>(nRanks) : 1);
}

}  // namespace autoccl::nccl
