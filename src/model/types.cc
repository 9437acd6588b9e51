#include "model/types.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace autoccl {
namespace {

constexpr std::array<std::string_view, kCollectives> kCollectiveText{
    "allreduce", "allgather", "reducescatter", "broadcast",      "reduce",   "alltoall", "gather",
    "scatter",   "alltoallv", "allgatherv",    "reducescatterv", "sendrecv", "barrier"};
constexpr std::array<std::string_view, kAlgorithms> kAlgorithmText{
    "ring",          "tree",         "hd",   "oneshot",  "twoshot", "hier",
    "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat",     "untouched"};
constexpr std::array<std::string_view, kProtocols> kProtocolText{"ll", "ll128", "simple", "zero"};
constexpr std::array<std::string_view, kTransports> kTransportText{"shm", "cma", "ucx", "p2p",
                                                                   "ce",  "net", "auto"};
constexpr std::array<std::string_view, kDataTypes + 1> kDataTypeText{
    "int8",    "uint8",    "int16",   "uint16",  "int32",      "uint32",     "int64", "uint64",
    "float16", "bfloat16", "float32", "float64", "float8e4m3", "float8e5m2", "any"};
constexpr std::array<size_t, kDataTypes> kDataTypeSize{1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1};
constexpr std::array<std::string_view, kReduceOps + 1> kReduceOpText{
    "sum", "prod", "max", "min", "avg", "scaledsum", "any"};

bool sameWord(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

template <class E, size_t N>
std::optional<E> find(const std::array<std::string_view, N>& words,
                      std::string_view text) noexcept {
  for (size_t i = 0; i < N; ++i)
    if (sameWord(words[i], text)) return static_cast<E>(i);
  return std::nullopt;
}

template <class E, size_t N>
std::string_view word(const std::array<std::string_view, N>& words, E value) noexcept {
  const auto i = static_cast<size_t>(value);
  return i < N ? words[i] : std::string_view("?");
}

}  // namespace

std::string_view toText(Collective v) noexcept {
  return word(kCollectiveText, v);
}
std::string_view toText(Algorithm v) noexcept {
  return word(kAlgorithmText, v);
}
std::string_view toText(Protocol v) noexcept {
  return word(kProtocolText, v);
}
std::string_view toText(Transport v) noexcept {
  return word(kTransportText, v);
}
std::string_view toText(DataType v) noexcept {
  return word(kDataTypeText, v);
}
std::string_view toText(ReduceOp v) noexcept {
  return word(kReduceOpText, v);
}

template <>
std::optional<Collective> fromText(std::string_view t) noexcept {
  return find<Collective>(kCollectiveText, t);
}
template <>
std::optional<Algorithm> fromText(std::string_view t) noexcept {
  return find<Algorithm>(kAlgorithmText, t);
}
template <>
std::optional<Protocol> fromText(std::string_view t) noexcept {
  return find<Protocol>(kProtocolText, t);
}
template <>
std::optional<Transport> fromText(std::string_view t) noexcept {
  return find<Transport>(kTransportText, t);
}
template <>
std::optional<DataType> fromText(std::string_view t) noexcept {
  return find<DataType>(kDataTypeText, t);
}
template <>
std::optional<ReduceOp> fromText(std::string_view t) noexcept {
  return find<ReduceOp>(kReduceOpText, t);
}

size_t sizeOf(DataType v) noexcept {
  return v == kAnyDataType ? 1 : kDataTypeSize[static_cast<size_t>(v)];
}

bool reduces(Collective c) noexcept {
  return c == Collective::kAllReduce || c == Collective::kReduceScatter ||
         c == Collective::kReduce || c == Collective::kReduceScatterv;
}

bool rooted(Collective c) noexcept {
  return c == Collective::kBroadcast || c == Collective::kReduce || c == Collective::kGather ||
         c == Collective::kScatter;
}

double busFactor(Collective c, int nRanks) noexcept {
  const double n = nRanks;
  switch (c) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kAllToAllv:
    case Collective::kAllGatherv:
    case Collective::kReduceScatterv:
    case Collective::kGather:
    case Collective::kScatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace autoccl
